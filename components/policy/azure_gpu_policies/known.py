"""Reads properties, some of which aren't known before an update: those are `UNKNOWN`."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, cast


class _Unknown(Enum):
    UNKNOWN = "not known before an update"


UNKNOWN = _Unknown.UNKNOWN


def at(value: object, *keys: str) -> Any:
    """Returns the value at the path; None where it isn't set, UNKNOWN where it or a value around it isn't known."""
    for key in keys:
        if value is UNKNOWN:
            return UNKNOWN
        value = cast(Mapping[str, object], value).get(key) if isinstance(value, Mapping) else None
    return value


def text(value: object, *keys: str) -> str:
    """Returns the string at the path; "" where it isn't set or known."""
    found = at(value, *keys)
    return found if isinstance(found, str) else ""


def number(value: object, *keys: str) -> int | None:
    """Returns the number at the path; None where it isn't set or known."""
    found = at(value, *keys)
    return int(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def mapping(value: object, *keys: str) -> Mapping[str, Any] | None:
    """Returns the object at the path; None where it isn't set or known."""
    found = at(value, *keys)
    return cast(Mapping[str, Any], found) if isinstance(found, Mapping) else None


def is_word(value: object, word: str) -> bool:
    """Whether the value is this enum value, case-insensitive."""
    return isinstance(value, str) and value.lower() == word.lower()


def entries(value: object, *keys: str) -> Iterator[tuple[int, Any]]:
    """Yields the known entries of a list with their index."""
    found = at(value, *keys)
    if isinstance(found, Sequence) and not isinstance(found, str):
        yield from ((index, each) for index, each in enumerate(cast(Sequence[Any], found)) if each is not UNKNOWN)


def is_open(value: object) -> bool:
    """Whether the value, or any value inside of it, isn't known."""
    if isinstance(value, Mapping):
        return any(is_open(each) for each in cast(Mapping[str, object], value).values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return any(is_open(each) for each in cast(Sequence[object], value))
    return value is UNKNOWN
