"""Every text in a value of JSON."""

from collections.abc import Iterator, Mapping
from typing import cast


def texts(value: object) -> Iterator[str]:
    """Keys too: Azure names identities by them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in cast(Mapping[str, object], value).items():
            yield key
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in cast(list[object], value):
            yield from texts(inner)
