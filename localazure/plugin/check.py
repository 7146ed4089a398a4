"""Fills in inputs before planning, and rejects invalid ones without asking Azure.

Defaults: physical name, location, API version. Refused: missing required inputs and values of a wrong type. Unknown properties
are for ARM to refuse, and so is everything that a service knows better. Wording and order as in the real provider.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from azure_gpu.formats.azure_types import RESOURCE_GROUP, AzureType
from localazure.plugin.naming import Autonaming, with_name
from localazure.plugin.projection import sdk_properties
from localazure.plugin.wire import Properties, is_unknown
from localazure.shapes import (
    AnyShape,
    ArrayShape,
    BooleanShape,
    MapShape,
    NumberShape,
    ObjectShape,
    Shape,
    StringShape,
    UnionShape,
    arm_shape,
    default_api_version,
    sdk_inputs,
)

_LOCATION_HINT = ". Either set it explicitly or configure it with 'pulumi config set azure-native:location <value>'."


def with_defaults(
    azure_type: AzureType,
    logical_name: str,
    inputs: Mapping[str, Any],
    old_inputs: Mapping[str, Any],
    *,
    seed: bytes,
    autonaming: Autonaming | None,
    default_location: str,
    group_location: Callable[[str], str | None],
) -> Properties:
    """`inputs` with name, location and API version.

    `group_location` looks a resource group's location up, None where it has none.
    """
    filled = with_name(azure_type, logical_name, inputs, old_inputs, seed, autonaming)
    if "location" in sdk_inputs(azure_type) and filled.get("location") is None:
        group = filled.get("resourceGroupName")
        location = old_inputs.get("location") or default_location
        if not location and isinstance(group, str) and azure_type != RESOURCE_GROUP:
            location = group if is_unknown(group) else group_location(group)
        if location:
            filled["location"] = location
    filled.setdefault("azureApiVersion", default_api_version(azure_type))
    return filled


def input_problems(azure_type: AzureType, inputs: Mapping[str, Any]) -> list[str]:
    """What is wrong with checked inputs, each with the path of the value. Values that aren't known yet are let pass."""
    shape = arm_shape(azure_type)
    missing = [name for name in azure_type.path_parameters if inputs.get(name) is None]
    return [*(_missing(name) for name in missing), *_object_problems(shape, inputs, "", skip=set(azure_type.path_parameters))]


def _object_problems(shape: ObjectShape, value: Mapping[str, Any], path: str, skip: set[str] | None = None) -> Iterator[str]:
    for name, each in sdk_properties(shape).items():
        here = f"{path}.{name}" if path else name
        if name in (skip or ()):
            continue
        given = value.get(name)
        if given is None and (each.sdk_required or (each.required and here == "location")):
            yield _missing(here)
        elif given is not None and each.key_set and not is_unknown(given):
            yield from _problems(ArrayShape(StringShape()), given, here)
        elif given is not None and not each.read_only:
            yield from _problems(each.shape, given, here)


def _missing(path: str) -> str:
    return f"missing required property '{path}'" + (_LOCATION_HINT if path == "location" else "")


def _problems(shape: Shape, value: Any, path: str) -> Iterator[str]:
    if is_unknown(value) or isinstance(shape, AnyShape):
        return
    requested = _name_of(shape)
    given = _name_of_value(value)
    if requested == "integer" and given == "number":
        if not float(value).is_integer():
            yield f"'{path}' must be an integer but got {value}"
    elif requested != given:
        yield f"'{path}' should be of type '{requested}' but got {'an' if given[0] in 'aio' else 'a'} {given}"
    elif isinstance(shape, ObjectShape):
        yield from _object_problems(shape, value, path)
    elif isinstance(shape, ArrayShape):
        for index, each in enumerate(value):
            yield from _problems(shape.items, each, f"{path}[{index}]")
    elif isinstance(shape, MapShape):
        for key, each in value.items():
            yield from _problems(shape.values, each, f"{path}.{key}")
    elif isinstance(shape, UnionShape):
        yield from _union_problems(shape, value, path)


def _union_problems(shape: UnionShape, value: Mapping[str, Any], path: str) -> Iterator[str]:
    given = value.get(shape.discriminator)
    if is_unknown(given):
        return
    if not isinstance(given, str) or given not in shape.options:
        allowed = ", ".join(f"'{each}'" for each in shape.options)
        yield f"'{path}.{shape.discriminator}' takes {allowed}" + (f" but got '{given}'" if given else " and is missing")
    else:
        yield from _object_problems(shape.options[given], value, path)


def _name_of(shape: Shape) -> str:
    if isinstance(shape, NumberShape):
        return "integer" if shape.integer else "number"
    return _SHAPES.get(type(shape), "string")


def _name_of_value(value: Any) -> str:
    return next((name for kind, name in _VALUES.items() if isinstance(value, kind)), "object")


_SHAPES: dict[type, str] = {
    **dict.fromkeys((ObjectShape, MapShape, UnionShape), "object"),
    ArrayShape: "array",
    BooleanShape: "boolean",
}
_VALUES = {bool: "boolean", int: "number", float: "number", str: "string", list: "array"}  # a bool is an int
