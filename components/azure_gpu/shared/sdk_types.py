"""The classes of azure-native's SDK that hold arguments: their properties by the names on the wire and in Python, with types."""

import functools
import importlib
from collections.abc import Mapping
from typing import Any, cast

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
