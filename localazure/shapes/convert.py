"""Converts between the form of Pulumi's SDK and ARM's, by a shape.

SDK inputs and outputs lie flat, in wire names (`containers[0].image`); ARM wraps them
(`properties.containers[0].properties.image`). What a shape doesn't know is passed on as it is: an unknown property is for ARM to
refuse, not for a client to lose.
"""

from collections.abc import Callable, Mapping
from typing import Any

from azure_gpu.formats.azure_types import AzureType
from localazure.shapes.model import ArrayShape, MapShape, ObjectShape, Property, Shape, UnionShape
from localazure.shapes.written import arm_shape

Json = dict[str, Any]


def to_arm(azure_type: AzureType, inputs: Mapping[str, Any]) -> Json:
    """The body of a PUT from SDK inputs.

    Names of the path are left out; numbers without a fraction become integers, as JSON writers do.
    """
    in_path = azure_type.path_parameters
    return _to_arm(arm_shape(azure_type), {key: value for key, value in inputs.items() if key not in in_path})


def from_arm(azure_type: AzureType, resource: Mapping[str, Any]) -> Json:
    """SDK outputs from what ARM answered."""
    return _from_arm(arm_shape(azure_type), resource)


def without_read_only(shape: Shape, body: Any) -> Any:
    """`body` without what the service sets itself."""
    return _filtered(shape, body, lambda each: not each.read_only)


def without_secrets(shape: Shape, body: Any) -> Any:
    """`body` as GET may answer it: without what is write-only."""
    return _filtered(shape, body, lambda each: not each.secret)


def _to_arm(shape: Shape, value: Any) -> Any:
    match shape, value:
        case ObjectShape(), Mapping():
            return _object_to_arm(shape, value)
        case ArrayShape(), list():
            return [_to_arm(shape.items, each) for each in value]
        case MapShape(), Mapping():
            return {key: _to_arm(shape.values, each) for key, each in value.items()}
        case UnionShape(), Mapping():
            option = shape.options.get(str(value.get(shape.discriminator)))
            return _to_arm(option, value) if option else _json(value)
        case _:
            return _json(value)


def _object_to_arm(shape: ObjectShape, value: Mapping[str, Any]) -> Json:
    body: Json = {}
    rest = dict(value)
    wrapper = None
    for each in shape.properties.values():
        if not each.sdk_name:
            wrapper = each
        elif each.sdk_name in rest:
            given = rest.pop(each.sdk_name)
            if given is not None:
                body[each.name] = _keys_to_map(given) if each.key_set else _to_arm(each.shape, given)
    if wrapper is None:
        return body | _json(rest)
    if isinstance(wrapper.shape, ObjectShape) and isinstance(rest.get(wrapper.name), Mapping):
        rest |= rest.pop(wrapper.name)  # taken whole, and answered lying flat (`flat_outputs`)
    inside = _to_arm(wrapper.shape, rest)
    return body | {wrapper.name: inside} if inside or wrapper.required else body


def _keys_to_map(given: Any) -> Any:
    return {str(key): {} for key in given} if isinstance(given, list) else _json(given)


def _json(value: Any) -> Any:
    """`value` with integers where a number has no fraction: every number of a protobuf `Struct` is a float."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_json(each) for each in value]
        case Mapping():
            return {key: _json(each) for key, each in value.items()}
        case _:
            return value


def _from_arm(shape: Shape, value: Any) -> Any:
    match shape, value:
        case ObjectShape(), Mapping():
            outputs: Json = {}
            for name, given in value.items():
                each = shape.properties.get(name)
                if each is None:
                    outputs[name] = given
                elif each.sdk_name:
                    outputs[each.sdk_name] = _from_arm(each.shape, given)
                else:
                    inside = _from_arm(each.shape, given) or {}
                    outputs |= {**inside, each.name: inside} if each.answered_whole else inside
            return outputs
        case ArrayShape(), list():
            return [_from_arm(shape.items, each) for each in value]
        case MapShape(), Mapping():
            return {key: _from_arm(shape.values, each) for key, each in value.items()}
        case UnionShape(), Mapping():
            option = shape.options.get(str(value.get(shape.discriminator)))
            return _from_arm(option, value) if option else value
        case _:
            return value


def _filtered(shape: Shape, value: Any, keep: Callable[[Property], bool]) -> Any:
    match shape, value:
        case ObjectShape(), Mapping():
            kept: Json = {}
            for name, given in value.items():
                each = shape.properties.get(name)
                if each is None or keep(each):
                    kept[name] = _filtered(each.shape, given, keep) if each else given
            return kept
        case ArrayShape(), list():
            return [_filtered(shape.items, each, keep) for each in value]
        case MapShape(), Mapping():
            return {key: _filtered(shape.values, each, keep) for key, each in value.items()}
        case UnionShape(), Mapping():
            option = shape.options.get(str(value.get(shape.discriminator)))
            return _filtered(option, value, keep) if option else value
        case _:
            return value
