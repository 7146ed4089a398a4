"""Converts between the form of Pulumi's SDK and ARM's, by a shape, and takes parts out of bodies.

SDK inputs and outputs lie flat, in wire names (`containers[0].image`); ARM wraps them
(`properties.containers[0].properties.image`). What a shape doesn't know is passed on as it is: an unknown property is for ARM to
refuse, not for a client to lose.
"""

from collections.abc import Callable, Mapping
from typing import Any

from azure_gpu.formats.azure_types import AzureType
from localazure.shapes.model import ArrayShape, MapShape, ObjectShape, Property, Shape, UnionShape
from localazure.shapes.versions import presence
from localazure.shapes.written import arm_shape

Json = dict[str, Any]
Walk = Callable[[Shape, Any], Any]
OfObject = Callable[[ObjectShape, Mapping[str, Any], Walk], Any]


def walked(shape: Shape, value: Any, of_object: OfObject, other: Walk = lambda _, value: value) -> Any:
    """`value` with each object replaced by what `of_object` makes of it, which is given the way on, and all else by `other`."""

    def on(shape: Shape, value: Any) -> Any:
        match shape, value:
            case ObjectShape(), Mapping():
                return of_object(shape, value, on)
            case ArrayShape(), list():
                return [on(shape.items, each) for each in value]
            case MapShape(), Mapping():
                return {key: on(shape.values, each) for key, each in value.items()}
            case UnionShape(), Mapping() if str(value.get(shape.discriminator)) in shape.options:
                return on(shape.options[str(value.get(shape.discriminator))], value)
            case _:
                return other(shape, value)

    return on(shape, value)


def to_arm(azure_type: AzureType, inputs: Mapping[str, Any]) -> Json:
    """The body of a PUT from SDK inputs.

    Names of the path are left out; numbers without a fraction become integers, as JSON writers do.
    """
    in_path = azure_type.path_parameters
    given = {key: value for key, value in inputs.items() if key not in in_path}
    return walked(arm_shape(azure_type), given, _object_to_arm, lambda _, value: _json(value))


def from_arm(azure_type: AzureType, resource: Mapping[str, Any]) -> Json:
    """SDK outputs from what ARM answered."""
    return walked(arm_shape(azure_type), resource, _object_from_arm)


def without_read_only(shape: Shape, body: Any) -> Any:
    """`body` without what the service sets itself."""
    return _filtered(shape, body, lambda _, __, each: each is None or not each.read_only)


def without_secrets(shape: Shape, body: Any) -> Any:
    """`body` as GET may answer it: without what is write-only."""
    return _filtered(shape, body, lambda _, __, each: each is None or not each.secret)


def without_other_versions(shape: Shape, body: Any, version: str) -> Any:
    """`body` without the members that `version` doesn't have."""
    return _filtered(shape, body, lambda above, name, _: presence(above.name, name, version) != "missing")


def respelled(shape: Shape, body: Any) -> Any:
    """`body` with the shape's own spellings: services read names without regard to letter case. What the shape doesn't know, and
    what is there in both spellings, stays.

    The Azure CLI relies on it: `az containerapp env create` (2.91) sends `Name` of a workload profile.
    """
    return walked(shape, body, _respelled)


def _respelled(shape: ObjectShape, value: Mapping[str, Any], on: Walk) -> Json:
    known = {name.lower(): name for name in shape.properties}
    found: Json = {}
    for name, each in value.items():
        ours = known.get(name.lower(), name)
        spelt = name if ours in value else ours
        found[spelt] = _below(shape, spelt, each, on)
    return found


def _filtered(shape: Shape, body: Any, keeps: Callable[[ObjectShape, str, Property | None], bool]) -> Any:
    return walked(
        shape,
        body,
        lambda above, value, on: {
            name: _below(above, name, each, on) for name, each in value.items() if keeps(above, name, above.properties.get(name))
        },
    )


def _below(shape: ObjectShape, name: str, value: Any, on: Walk) -> Any:
    known = shape.properties.get(name)
    return on(known.shape, value) if known else value


def _object_to_arm(shape: ObjectShape, value: Mapping[str, Any], on: Walk) -> Json:
    body: Json = {}
    rest = dict(value)
    wrapper = None
    for each in shape.properties.values():
        if not each.sdk_name:
            wrapper = each
        elif each.sdk_name in rest:
            given = rest.pop(each.sdk_name)
            if given is not None:
                body[each.name] = _keys_to_map(given) if each.key_set else on(each.shape, given)
    if wrapper is None:
        return body | _json(rest)
    if isinstance(wrapper.shape, ObjectShape) and isinstance(rest.get(wrapper.name), Mapping):
        rest |= rest.pop(wrapper.name)  # taken whole, and answered lying flat (`flat_outputs`)
    inside = on(wrapper.shape, rest)
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


def _object_from_arm(shape: ObjectShape, value: Mapping[str, Any], on: Walk) -> Json:
    outputs: Json = {}
    for name, given in value.items():
        each = shape.properties.get(name)
        if each is None:
            outputs[name] = given
        elif each.sdk_name:
            outputs[each.sdk_name] = on(each.shape, given)
        else:
            inside = on(each.shape, given) or {}
            outputs |= {**inside, each.name: inside} if each.answered_whole else inside
    return outputs
