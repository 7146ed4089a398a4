"""Reads properties of which some aren't known before an update.

In: a property map as plain values, with `UNKNOWN` where an output stands that a preview can't tell. Out: values.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, cast


class _Unknown(Enum):
    UNKNOWN = "not known before an update"


UNKNOWN = _Unknown.UNKNOWN


def at(value: object, *keys: str) -> Any:
    """What is at the end of the path; None where nothing is, UNKNOWN where it or anything on the way isn't known."""
    for key in keys:
        if value is UNKNOWN:
            return UNKNOWN
        value = cast(Mapping[str, object], value).get(key) if isinstance(value, Mapping) else None
    return value


def text(value: object, *keys: str) -> str:
    """ "" where nothing is, or it isn't known."""
    found = at(value, *keys)
    return found if isinstance(found, str) else ""


def number(value: object, *keys: str) -> int | None:
    """None where nothing is, or it isn't known."""
    found = at(value, *keys)
    return int(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def mapping(value: object, *keys: str) -> Mapping[str, Any] | None:
    """None where no object is, or it isn't known."""
    found = at(value, *keys)
    return cast(Mapping[str, Any], found) if isinstance(found, Mapping) else None


def is_word(value: object, word: str) -> bool:
    """Whether it is this word of an enum, in whatever letter case."""
    return isinstance(value, str) and value.lower() == word.lower()


def entries(value: object, *keys: str) -> Iterator[tuple[int, Any]]:
    """The entries of a list with their index, without those that aren't known; none where there is no list."""
    found = at(value, *keys)
    if isinstance(found, Sequence) and not isinstance(found, str):
        yield from ((index, each) for index, each in enumerate(cast(Sequence[Any], found)) if each is not UNKNOWN)


def is_open(value: object) -> bool:
    """Whether anything in it isn't known."""
    if isinstance(value, Mapping):
        return any(is_open(each) for each in cast(Mapping[str, object], value).values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return any(is_open(each) for each in cast(Sequence[object], value))
    return value is UNKNOWN
