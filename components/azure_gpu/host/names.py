"""Converts names between Python and the schema: `max_nodes` in Python is `maxNodes` in the schema and on the wire.

Each language converts the schema's names to its own: `MaxNodes` in C# and Go, `max_nodes` in Python again. User-defined names,
such as those of pools and tags, are never converted.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

PACKAGE = "azuregpu"
"""Name of the package, with which the types of all components begin."""
_SNAKE = re.compile(r"(?<![\w/.-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![\w/-])|(?<=\.)[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![\w/-])")
_QUOTED = re.compile(r"`[^`]*`")
_OF_PYTHON = (  # what a fix writes in Python, and what it is in the other languages
    (
        re.compile(r'opts=pulumi\.ResourceOptions\(aliases=\[pulumi\.Alias\(name="([^"]+)"\)\]\)'),
        r'the option aliases: [{name: "\1"}]',
    ),
    (re.compile(r"pulumi\.Output\.unsecret\(…\)"), "pulumi.unsecret(…), or in YAML no fn::secret"),
)


def camel(key: str) -> str:
    """Converts a key to its name in the schema."""
    first, *others = key.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def token(name: str) -> str:
    """Returns the token of a component or a type."""
    return f"{PACKAGE}:index:{name}"


def by_wire_name(keys: Mapping[str, object]) -> dict[str, str]:
    """Returns the Python keys of an object by their names in the schema."""
    return {camel(key): key for key in keys}


def of_keys(spec: Mapping[str, Any]) -> frozenset[str]:
    """Returns the names of all properties of a schema, except those that are also enum values, which would be ambiguous in
    texts."""
    objects = [*spec["types"].values(), *spec["resources"].values()]
    names = {name for each in objects for kind in ("properties", "inputProperties") for name in each.get(kind, ())}
    choices = {camel(member["value"]) for each in spec["types"].values() for member in each.get("enum", ())}
    return frozenset(names - choices)


def respelt(text: str, names: Collection[str]) -> str:
    """Converts the keys in a text to their names in the schema, and Python to what any language has. `names`: those of its
    properties."""

    def in_schema(found: re.Match[str]) -> str:
        name = camel(found[0])
        return name if name in names else found[0]

    for python, elsewhere in _OF_PYTHON:
        text = python.sub(elsewhere, text)
    return _SNAKE.sub(in_schema, text)


def respelt_in_quotes(text: str, names: Collection[str]) -> str:
    """The same only between backticks, as in docstrings."""
    return _QUOTED.sub(lambda found: respelt(found[0], names), text)
