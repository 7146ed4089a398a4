"""Merges inputs and outputs of one resource: outputs in preview, inputs after a refresh or an import."""

import re
from collections.abc import Mapping
from typing import Any

from azure_gpu.formats.azure_types import AzureType
from localazure.plugin.wire import UNKNOWN, Properties
from localazure.shapes import ArrayShape, MapShape, ObjectShape, Property, Shape, UnionShape, arm_shape, sdk_inputs


def sdk_properties(shape: ObjectShape) -> dict[str, Property]:
    """An object's properties by the SDK's names, with those that ARM wraps lying flat."""
    found: dict[str, Property] = {}
    for each in shape.properties.values():
        if each.sdk_name:
            found[each.sdk_name] = each
        elif isinstance(each.shape, ObjectShape):
            found |= sdk_properties(each.shape)
    return found


def preview_outputs(azure_type: AzureType, inputs: Mapping[str, Any]) -> Properties:
    """What a resource will be: its inputs, with what the service sets as unknown."""
    shape = arm_shape(azure_type)
    in_path = set(azure_type.path_parameters) - set(sdk_properties(shape))
    shown = {name: value for name, value in inputs.items() if name not in in_path and not name.startswith("__")}
    outputs = _with_unknowns(shape, shown, top_level=True)
    return {name: value for name, value in outputs.items() if name != "id"}


def _with_unknowns(shape: Shape, value: Any, *, top_level: bool = False) -> Any:
    match shape, value:
        case ObjectShape(), Mapping():
            outputs = dict(value)
            for name, each in sdk_properties(shape).items():
                if name not in value:
                    if each.read_only or top_level:
                        outputs[name] = UNKNOWN
                elif each.key_set:
                    outputs[name] = UNKNOWN
                else:
                    outputs[name] = _with_unknowns(each.shape, value[name])
            return outputs
        case ArrayShape(), list():
            return [_with_unknowns(shape.items, each) for each in value]
        case _:
            return value


def inputs_of(azure_type: AzureType, outputs: Mapping[str, Any]) -> Properties:
    """The part of SDK outputs that could have been inputs, in their form."""
    taken = sdk_inputs(azure_type)
    projected = _inputs_of(arm_shape(azure_type), outputs)
    return {name: value for name, value in projected.items() if name in taken}


def _inputs_of(shape: Shape, value: Any) -> Any:
    match shape, value:
        case ObjectShape(), Mapping():
            properties = sdk_properties(shape)
            inputs: Properties = {}
            for name, given in value.items():
                each = properties.get(name)
                if each is None or each.read_only or given is None:
                    continue
                is_set = each.key_set and isinstance(given, Mapping)
                inputs[name] = sorted(given) if is_set else _inputs_of(each.shape, given)
            return inputs
        case ArrayShape(), list():
            return [_inputs_of(shape.items, each) for each in value]
        case MapShape(), Mapping():
            # Null isn't a value where the engine compares maps: pulumi/pulumi, sdk/go/common/resource/properties_diff.go.
            return {key: _inputs_of(shape.values, each) for key, each in value.items() if each is not None}
        case UnionShape(), Mapping():
            option = shape.options.get(str(value.get(shape.discriminator)))
            return _inputs_of(option, value) if option else value
        case _:
            return value


def path_inputs(azure_type: AzureType, resource_id: str) -> Properties:
    """The inputs that an id spells. ValueError where it isn't an id of this type."""
    literal_or_name = re.split(r"(\{\w+\})", azure_type.path)
    pattern = "".join(_pattern(part) for part in literal_or_name)
    match = re.fullmatch(pattern, resource_id, re.IGNORECASE)
    if match is None:
        raise ValueError(f"'{resource_id}' is not the id of a {azure_type.arm_type}; such an id looks like {azure_type.path}")
    return {name: value for name, value in match.groupdict().items() if name != "subscriptionId"}


def _pattern(part: str) -> str:
    if not part.startswith("{"):
        return re.escape(part)
    name = part[1:-1]
    return f"(?P<{name}>.+)" if name in ("scope", "resourceUri") else f"(?P<{name}>[^/]+)"


def refreshed_inputs(old_inputs: Any, old_outputs: Any, new_outputs: Any) -> Any:
    """Old inputs with what changed from the old to the new outputs, and nothing else: what Azure adds by itself isn't a change of
    ours.

    All three are in the form of inputs; the outputs are projections (`inputs_of`).
    """
    match old_inputs, old_outputs, new_outputs:
        case Mapping(), Mapping(), Mapping():
            result = {name: value for name, value in old_inputs.items() if name not in old_outputs or name in new_outputs}
            for name, new in new_outputs.items():
                if name not in old_outputs:
                    result[name] = new
                elif new != old_outputs[name]:
                    result[name] = refreshed_inputs(old_inputs[name], old_outputs[name], new) if name in old_inputs else new
            return result
        case list(), list(), list():
            known = min(len(old_inputs), len(old_outputs))
            return [
                refreshed_inputs(old_inputs[index], old_outputs[index], new) if index < known else new
                for index, new in enumerate(new_outputs)
            ]
        case _:
            return old_inputs if new_outputs == old_outputs else new_outputs
