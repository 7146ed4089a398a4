"""Writes `azure_gpu/formats/arm_bodies.json`: where ARM's bodies differ from the inputs of Pulumi's SDK, type by type.

    python -m localazure.shapes.bodies > components/azure_gpu/formats/arm_bodies.json

Read by commands that need ARM's bodies and can't import these shapes, such as one that has ARM validate a stack.
"""

import json
from typing import Any

from azure_gpu.formats.azure_types import ALL, AzureType
from localazure.shapes.model import ArrayShape, MapShape, ObjectShape, Shape, UnionShape
from localazure.shapes.written import arm_shape, default_api_version

Form = dict[str, Any]


def table() -> dict[str, Form]:
    """By token: the API version and the form of the body."""
    return {each.token: _of(each) for each in sorted(ALL, key=lambda each: each.token)}


def _of(azure_type: AzureType) -> Form:
    return {"version": default_api_version(azure_type), "body": _form(arm_shape(azure_type))}


def _form(shape: Shape) -> Form | None:
    """None where both forms are the same at any depth."""
    match shape:
        case ArrayShape():
            return _each(shape.items)
        case MapShape():
            return _each(shape.values)
        case UnionShape():
            options = {value: form for value, option in shape.options.items() if (form := _form(option)) is not None}
            return {"by": shape.discriminator, "one_of": options} if options else None
        case ObjectShape():
            return _object(shape)
        case _:
            return None


def _each(shape: Shape) -> Form | None:
    inner = _form(shape)
    return None if inner is None else {"each": inner}


def _object(shape: ObjectShape) -> Form | None:
    wrapper = next((each for each in shape.properties.values() if not each.sdk_name), None)
    beside = [each for each in shape.properties.values() if each.sdk_name and not each.read_only]
    within = wrapper.shape.properties.values() if wrapper and isinstance(wrapper.shape, ObjectShape) else ()
    inside = [each for each in within if not each.read_only]
    names = {each.sdk_name: each.name for each in (*beside, *inside) if each.name != each.sdk_name}
    forms = {each.sdk_name: form for each in (*beside, *inside) if not each.key_set and (form := _form(each.shape)) is not None}
    sets = sorted(each.sdk_name for each in (*beside, *inside) if each.key_set)
    found: Form = {
        "beside": sorted(each.sdk_name for each in beside) if wrapper else None,
        "required": bool(wrapper and wrapper.required),
        "names": names,
        "sets": sets,
        "in": forms,
    }
    return {key: value for key, value in found.items() if value or (key == "beside" and wrapper)} or None


def main() -> None:
    lines = (f"{json.dumps(token)}: {json.dumps(form, separators=(',', ':'), sort_keys=True)}" for token, form in table().items())
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main()
