"""Words for the shape of a JSON body: what `formats.shaped` holds a value against.

`Text`, `Number`, `Flag`, `Texts`, `Many`, `Things` and `Anything`.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias, Union


class Text(NamedTuple):
    """Text; where `choices` are given, one of them in any letter case. Of an open choice others are taken too."""

    choices: tuple[str, ...] = ()
    open: bool = False
    secret: bool = False
    filled: bool = True  # a placeholder in it is a problem; a shell's `${NAME}` in a command is none
    free: bool = False  # whatever a program wants: only text that is nothing but a placeholder is surely one


class Number(NamedTuple):
    """A number, or text that spells one: ARM takes both."""

    whole: bool = False


class Flag(NamedTuple):
    """True or false."""


class Texts(NamedTuple):
    """Text by name, under any name."""

    secret: bool = False


class Anything(NamedTuple):
    """What is taken as it is."""


class Many(NamedTuple):
    """A list."""

    of: "Shape"
    what: str  # one of them, in words


class Things(NamedTuple):
    """An object with these properties. `answered` are those that a service adds when it is asked, and nobody gives; `unread`
    those that people write and nothing reads, so that nothing changes without them."""

    properties: Mapping[str, "Shape"]
    required: Mapping[str, str] = {}  # with the likely fix
    answered: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()


Shape: TypeAlias = Union[Text, Number, Flag, Texts, Anything, Many, Things]  # noqa: UP007 - `|` can't hold a name in quotes
