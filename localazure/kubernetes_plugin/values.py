"""Values of inputs and of live objects beside each other: what is the same although it is spelled otherwise, and what of a live
object the program had a say in.

The server writes quantities in its own form (0.5 as 500m), leaves zero values out and turns a Secret's stringData into data.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from localazure.kubernetes.quantities import number
from localazure.kubernetes_plugin.objects import Object
from localazure.plugin.wire import Secret, is_unknown

# Maps whose values are quantities, and single fields that are one.
_QUANTITY_MAPS = frozenset(
    {"allocatable", "capacity", "default", "defaultRequest", "hard", "limits", "max", "maxLimitRequestRatio", "min"}
    | {"overhead", "podFixed", "requests", "used"}
)
_QUANTITIES = frozenset({"divisor", "sizeLimit"})

# Python's SDK has names of its own for fields that aren't identifiers.
_DASHED = {
    "x_kubernetes_embedded_resource": "x-kubernetes-embedded-resource",
    "x_kubernetes_int_or_string": "x-kubernetes-int-or-string",
    "x_kubernetes_list_map_keys": "x-kubernetes-list-map-keys",
    "x_kubernetes_list_type": "x-kubernetes-list-type",
    "x_kubernetes_map_type": "x-kubernetes-map-type",
    "x_kubernetes_preserve_unknown_fields": "x-kubernetes-preserve-unknown-fields",
    "x_kubernetes_validations": "x-kubernetes-validations",
}
_UNDERSCORED = {value: key for key, value in _DASHED.items()}


def sent(value: Any) -> Any:
    """A value of the engine's as the API takes it: whole numbers whole, fields by their own names, no nulls."""
    match value:
        case Secret():
            return Secret(sent(value.value))
        case Mapping():
            return {_DASHED.get(key, key): sent(each) for key, each in value.items() if each is not None}
        case list():
            return [sent(each) for each in value if each is not None]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def received(value: Any) -> Any:
    """A value of the API's as the SDK names it."""
    match value:
        case Secret():
            return Secret(received(value.value))
        case Mapping():
            return {_UNDERSCORED.get(key, key): received(each) for key, each in value.items()}
        case list():
            return [received(each) for each in value]
        case _:
            return value


def canonical(thing: Any, key: str = "", parent: str = "") -> Any:
    """`thing` with quantities in one form, so that equal ones are equal. For comparing alone."""
    match thing:
        case Mapping():
            return {name: canonical(each, name, key) for name, each in thing.items()}
        case list():
            return [canonical(each) for each in thing]
        case bool() | None:
            return thing
        case str() | int() | float() if parent in _QUANTITY_MAPS or key in _QUANTITIES:
            return _quantity(thing)
        case _:
            return thing


def _quantity(value: Any) -> Any:
    try:
        return str(number(value))
    except ValueError:
        return value


def canonical_object(thing: Object) -> Object:
    """An object for comparing: quantities in one form, a Secret's stringData in its data."""
    found: Object = canonical(thing)
    text = found.get("stringData")
    if found.get("kind") == "Secret" and isinstance(text, Mapping) and isinstance(found.get("data") or {}, Mapping):
        data = {**(found.get("data") or {}), **{key: _encoded(each) for key, each in text.items()}}
        found = {key: each for key, each in found.items() if key != "stringData"} | {"data": data}
    return found


def live_inputs(live: Object, inputs: Object) -> Object:
    """What of a live object the program had a say in, in the program's spelling where it means the same."""
    found: Object = _pruned(live, inputs, "", "")
    if inputs.get("kind") == "Secret" and isinstance(inputs.get("stringData"), Mapping):
        data = live.get("data") or {}
        found["stringData"] = {key: _decoded(data[key]) for key in inputs["stringData"] if key in data}
    return found


def _pruned(live: Any, like: Any, key: str, parent: str) -> Any:
    match live, like:
        case Mapping(), Mapping():
            kept = {name: _pruned(live[name], each, name, key) for name, each in like.items() if name in live}
            # The server leaves zero values out: their absence isn't a change.
            return {**kept, **{name: each for name, each in like.items() if name not in live and not each}}
        case list(), list():
            return [_pruned(mine, its, "", "") for mine, its in _pairs(live, like)]
        case _:
            return like if canonical(live, key, parent) == canonical(like, key, parent) else live


def _pairs(live: list[Any], like: list[Any]) -> list[tuple[Any, Any]]:
    """Elements that belong together: by name where all have one, by place otherwise. What others added is left out."""
    if like and all(isinstance(each, Mapping) and isinstance(each.get("name"), str) for each in [*live, *like]):
        by_name = {each["name"]: each for each in live}
        return [(by_name[each["name"]], each) for each in like if each["name"] in by_name]
    return list(zip(live, like, strict=False))


def _encoded(value: Any) -> Any:
    return base64.b64encode(value.encode()).decode() if isinstance(value, str) and not is_unknown(value) else value


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value).decode()
    except (binascii.Error, UnicodeDecodeError):
        return value
