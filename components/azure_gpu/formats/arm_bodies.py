"""Converts the inputs of a resource of Pulumi's azure-native into the body of a request to ARM.

How the two forms differ is read from `arm_bodies.json`, which is written from pulumi-azure-native 3.29 by
`python -m localazure.shapes.bodies` and lists only differences: what isn't listed has the same name and place in both. Needs
neither Pulumi nor its SDK."""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from azure_gpu.formats.azure_types import AzureType

Json = dict[str, Any]


@functools.cache
def _table() -> Json:
    return json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def api_version(azure_type: AzureType) -> str:
    """The API version that azure-native sends for a type."""
    return _table()[azure_type.token]["version"]


def body_of(azure_type: AzureType, inputs: Mapping[str, Any]) -> Json:
    """The body of a PUT for these inputs, without what is in its path."""
    given = {key: value for key, value in inputs.items() if key not in azure_type.path_parameters}
    return _written(_table()[azure_type.token]["body"], given)


def _written(form: Json | None, value: Any) -> Any:
    """`form` None: both forms are the same, at any depth."""
    if form is None:
        return _plain(value)
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [_written(form["each"], each) for each in items] if "each" in form else _plain(items)
    if not isinstance(value, Mapping):
        return _plain(value)
    value = cast("Mapping[str, Any]", value)
    if "each" in form:
        return {key: _written(form["each"], each) for key, each in value.items()}
    if "by" in form:
        return _written(form["one_of"].get(str(value.get(form["by"]))), value)
    return _object(form, value)


def _object(form: Json, value: Mapping[str, Any]) -> Json:
    """`sets`: lists that ARM has as objects of keys. `beside`: what stays outside of `properties`; None: there is none."""
    beside: Json = {}
    inside: Json = {}
    for name, given in value.items():
        if given is None:
            continue
        written: Any = (
            {str(key): Json() for key in cast("list[Any]", given)}
            if name in form.get("sets", ()) and isinstance(given, list)
            else _written(form.get("in", {}).get(name), given)
        )
        place = beside if form.get("beside") is None or name in form["beside"] else inside
        place[form.get("names", {}).get(name, name)] = written
    return {**beside, "properties": inside} if inside or form.get("required") else beside


def _plain(value: Any) -> Any:
    """Numbers without a fraction are integers, as JSON writers have them: every number of a protobuf `Struct` is a float."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(each) for each in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in cast("Mapping[str, Any]", value).items()}
    return value
