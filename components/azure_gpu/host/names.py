"""The names that programs in other languages use: `max_nodes` of Python is `maxNodes` in the schema and on the wire.

Each language makes its own of the schema's: `MaxNodes` in C# and Go, `max_nodes` in Python again. What a user names by himself,
such as a pool or a tag, is nobody's to change.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

PACKAGE = "azuregpu"
"""Of the package; the types of all components begin with it, whoever declares them."""
_SNAKE = re.compile(r"(?<![\w/.-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![\w/-])|(?<=\.)[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![\w/-])")
_QUOTED = re.compile(r"`[^`]*`")


def camel(key: str) -> str:
    """A key as the schema has it."""
    first, *others = key.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def token(name: str) -> str:
    """The token of a component or a type."""
    return f"{PACKAGE}:index:{name}"


def by_wire_name(keys: Mapping[str, object]) -> dict[str, str]:
    """The keys of an object in Python, by their names in the schema."""
    return {camel(key): key for key in keys}


def of_keys(spec: Mapping[str, Any]) -> frozenset[str]:
    """The names of all properties of a schema, without those that are choices, too: a sentence may mean either by such a word."""
    objects = [*spec["types"].values(), *spec["resources"].values()]
    names = {name for each in objects for kind in ("properties", "inputProperties") for name in each.get(kind, ())}
    choices = {camel(member["value"]) for each in spec["types"].values() for member in each.get("enum", ())}
    return frozenset(names - choices)


def respelt(text: str, names: Collection[str]) -> str:
    """A sentence of the library, with the keys in it as the schema has them. `names`: of its properties."""

    def in_schema(found: re.Match[str]) -> str:
        name = camel(found[0])
        return name if name in names else found[0]

    return _SNAKE.sub(in_schema, text)


def respelt_in_quotes(text: str, names: Collection[str]) -> str:
    """The same for what stands between backticks alone, as a docstring names keys."""
    return _QUOTED.sub(lambda found: respelt(found[0], names), text)
