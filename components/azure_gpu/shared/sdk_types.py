"""Reads the argument classes of azure-native's SDK: properties by their wire and Python names, with types."""

import functools
import importlib
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, cast, get_args

from pulumi import _types


@functools.cache
def args_class(token: str) -> Any:
    """Returns the argument class of a resource, by a token such as `azure-native:batch:Pool`."""
    return _of_sdk(token, "{}Args")


def look_up(token: str) -> Any:
    """Returns the function that looks up a resource, by its token: `get_pool`."""
    return _of_sdk(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", token).lower(), "get_{}")


def _of_sdk(token: str, form: str) -> Any:
    package, module, resource = token.split(":")
    return getattr(importlib.import_module(f"pulumi_{package.replace('-', '_')}.{module}"), form.format(resource))


def is_object(kind: Any) -> bool:
    """Whether a type is an argument class."""
    return isinstance(kind, type) and _types.is_input_type(kind)


def wire_names(kind: Any) -> Mapping[str, str]:
    """Returns the wire names of an object's properties by their Python names; empty for other types."""
    return _types.input_type_py_to_pulumi_names(kind) if is_object(kind) else {}


def kinds(kind: Any) -> Mapping[str, Any]:
    """Returns the types of an object's properties by their wire names; empty for other types."""
    return {name: plain(each) for name, each in _types.input_type_types(kind).items()} if is_object(kind) else {}


def plain(annotation: Any) -> Any:
    """Unwraps Input and Optional from a type."""
    return _types.unwrap_type(annotation)


def properties_of(value: object) -> Mapping[str, Any]:
    """Returns the properties of an object or a mapping as they were given; empty for other values."""
    if is_object(type(value)):
        return _types.input_type_to_untranslated_dict(value)
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def as_inputs(kind: Any, value: Any) -> Any:
    """Converts a value to an input of this type: by wire names, without nulls and unknown properties. `value`: arguments, an
    output of the SDK, or a value of the state."""
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
    if isinstance(value, float) and value.is_integer():  # the engine returns integers as floats
        return int(value)
    return value.value if isinstance(value, Enum) else value
