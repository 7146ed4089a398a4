"""Names of entries in a stack file."""

import re
from collections.abc import Iterator


def fitting(name: str) -> str:
    """The nearest name that Azure and stack files accept."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:63].rstrip("-") or "group"


def distinct(names: list[str], default: str) -> list[str]:
    """A name for each, none of them twice. `default` is for those that are empty."""
    result: list[str] = []
    for name in names:
        first = fitting(name or default)
        result.append(next(each for each in _numbered(first) if each not in result))
    return result


def _numbered(name: str) -> Iterator[str]:
    yield name
    for number in range(2, 1_000_000):
        yield f"{name}-{number}"
