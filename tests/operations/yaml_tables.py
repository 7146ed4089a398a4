"""Tables of tests in YAML: what a row expects of a value, part by part, and values of the program that a row describes."""

import collections.abc
import types
import typing
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import yaml


class Exactly(dict[str, Any]):
    """A mapping that equals what is found."""


class Only(dict[str, Any]):
    """A mapping whose keys are all that are found."""


class Begins(list[Any]):
    """How a list begins."""


class Has(list[Any]):
    """What is somewhere in a list."""


class AnyValue:
    """A value that isn't null."""


class TagLoader(yaml.CSafeLoader):
    """Knows the tags of the tables."""


TagLoader.add_constructor("!exactly", lambda loader, node: Exactly(loader.construct_mapping(node, deep=True)))
TagLoader.add_constructor("!only", lambda loader, node: Only(loader.construct_mapping(node, deep=True)))
TagLoader.add_constructor("!has", lambda loader, node: Has(loader.construct_sequence(node, deep=True)))
TagLoader.add_constructor("!any", lambda loader, node: AnyValue())
TagLoader.add_constructor("!begins", lambda loader, node: Begins(loader.construct_sequence(node, deep=True)))


def differences(expected: Any, found: Any, path: str = "") -> Iterator[str]:
    """Where what is found isn't what is expected. A mapping is a part of what is found, and null is a key that isn't there."""
    if isinstance(expected, AnyValue):
        if found is None:
            yield f"{path} isn't there"
    elif isinstance(expected, Has):
        for each in expected:
            if not any(not [*differences(each, one)] for one in found):
                yield f"{path} hasn't {each!r}"
    elif isinstance(expected, Exactly) or expected is None or not isinstance(expected, dict | list):
        if expected != found:
            yield f"{path}: {found!r} where {expected!r} is expected"
    elif isinstance(expected, list):
        wanted = len(expected)
        if not isinstance(found, list) or len(found) < wanted or (len(found) > wanted and not isinstance(expected, Begins)):
            yield f"{path}: {found!r} where {expected!r} is expected"
        else:
            for number, each in enumerate(expected):
                yield from differences(each, found[number], f"{path}[{number}]")
    elif not isinstance(found, dict):
        yield f"{path}: {found!r} where {expected!r} is expected"
    else:
        if isinstance(expected, Only) and found.keys() != expected.keys():
            yield f"{path} has {sorted(found)}"
        for key, each in expected.items():
            yield from differences(each, found.get(key), f"{path}.{key}")


def made(kind: Any, value: Any) -> Any:
    """A value of YAML as one of a type: a NamedTuple by its fields or in their order, and what they hold."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if value is None or kind is Any:
        return value
    if origin in (types.UnionType, typing.Union):
        return made(next(each for each in arguments if each is not type(None)), value)
    if origin is tuple and arguments[-1] is Ellipsis:
        return tuple(made(arguments[0], each) for each in value)
    if origin is tuple:
        return tuple(made(each, one) for each, one in zip(arguments, value, strict=True))
    if origin is frozenset:
        return frozenset(value)
    if origin is collections.abc.Mapping:
        return {key: made(arguments[1], each) for key, each in value.items()}
    if hasattr(kind, "_fields") and not isinstance(value, kind):
        value = value if isinstance(value, dict) else dict(zip(kind._fields, value, strict=False))
        hints = typing.get_type_hints(kind)
        return kind(**{name: made(hints[name], each) for name, each in value.items()})
    return value if kind is datetime or isinstance(value, kind) else kind(value)
