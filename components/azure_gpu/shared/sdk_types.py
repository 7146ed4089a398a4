"""The classes of azure-native's SDK that hold arguments: their properties by the names on the wire and in Python, with types."""

import functools
import importlib
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, cast, get_args

from pulumi import _types  # pyright: ignore[reportPrivateUsage] - how the SDK reads its input types, which nothing else says


@functools.cache
def args_class(token: str) -> Any:
    """The class of a resource's arguments, by a token such as `azure-native:batch:Pool`."""
    package, module, resource = token.split(":")
    return getattr(importlib.import_module(f"pulumi_{package.replace('-', '_')}.{module}"), f"{resource}Args")


def is_object(kind: Any) -> bool:
    """Whether a type is one of those classes."""
    return isinstance(kind, type) and _types.is_input_type(kind)


def wire_names(kind: Any) -> Mapping[str, str]:
    """The names of an object's properties on the wire, by those in Python; none of anything else."""
    return _types.input_type_py_to_pulumi_names(kind) if is_object(kind) else {}


def kinds(kind: Any) -> Mapping[str, Any]:
    """The type of each of an object's properties, by its name on the wire; none of anything else."""
    return {name: plain(each) for name, each in _types.input_type_types(kind).items()} if is_object(kind) else {}


def plain(annotation: Any) -> Any:
    """A type without the inputs and options around it."""
    return _types.unwrap_type(annotation)


def properties_of(value: object) -> Mapping[str, Any]:
    """The properties of such an object, or of a mapping, as they were given; none of anything else."""
    if is_object(type(value)):
        return _types.input_type_to_untranslated_dict(value)
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def as_inputs(kind: Any, value: Any) -> Any:
    """What of a value can be an input of this type, by wire names, without what is null. `value`: arguments, an output of the
    SDK, or what the state has."""
    if is_object(kind):
        names, types, found = wire_names(kind), kinds(kind), dict[str, Any]()
        for name, given in properties_of(value).items():
            wire = names.get(name, name)
            if wire in types and given is not None:
                found[wire] = as_inputs(types[wire], given)
        return found
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = (get_args(kind) or (Any,))[0]
        return [as_inputs(plain(items), each) for each in cast(Sequence[Any], value)]
    if isinstance(value, float) and value.is_integer():  # as calls of the engine have whole numbers
        return int(value)
    return value.value if isinstance(value, Enum) else value
