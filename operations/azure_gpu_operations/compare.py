"""Compares two configurations: each key whose values differ, or that only one of them has."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_NOTHING = "{}"


class Difference(NamedTuple):
    """A key's values as text in JSON, None where a configuration doesn't have it."""

    key: str  # `clusters.shared.tier`; a key of a provider with its namespace
    first: str | None
    second: str | None


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[Difference]:
    """Each leaf that differs between the two configurations, by key."""
    ours, theirs = dict(_leaves(first, "")), dict(_leaves(second, ""))
    keys = sorted(ours.keys() | theirs.keys())
    for key in keys:
        one, other = ours.get(key), theirs.get(key)
        is_empty = _NOTHING in (one, other) and any(each.startswith(f"{key}.") for each in keys)  # its keys tell the difference
        if one != other and not is_empty:
            yield Difference(key, one, other)


def _leaves(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Every value that isn't a mapping with keys in it: a list is one value."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value if isinstance(value, str) else json.dumps(value)
