"""Words for the shape of a JSON body: what `formats.shaped` holds a value against.

`Text`, `Number`, `Flag`, `TextMap`, `ListOf`, `Object` and `Anything`.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias, Union


class Text(NamedTuple):
    """Text; where `choices` are given, one of them in any letter case. Of an open choice others are taken too."""

    choices: tuple[str, ...] = ()
    open: bool = False
    secret: bool = False
    filled: bool = True  # a placeholder in it is a problem; a shell's `${NAME}` in a command is none
    free: bool = False  # input of a program: only a text that is a placeholder as a whole is treated as one


class Number(NamedTuple):
    """A number, or text that spells one: ARM takes both."""

    whole: bool = False


class Flag(NamedTuple):
    """True or false."""


class TextMap(NamedTuple):
    """Text by name, under any name."""

    secret: bool = False


class Anything(NamedTuple):
    """What is taken as it is."""


class ListOf(NamedTuple):
    """A list."""

    of: "Shape"
    what: str  # one of them, in words


class Object(NamedTuple):
    """An object with these properties. `answered` are those that a service adds to its answers; `unread`
    those that people write and nothing reads, so that nothing changes without them."""

    properties: Mapping[str, "Shape"]
    required: Mapping[str, str] = {}  # with the likely fix
    answered: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()


Shape: TypeAlias = Union[Text, Number, Flag, TextMap, Anything, ListOf, Object]  # noqa: UP007 - `|` can't hold a name in quotes
