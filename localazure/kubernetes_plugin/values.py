"""Values of inputs and of live objects beside each other: what is the same although it is spelled otherwise, and what of a live
object the program had a say in.

The server writes quantities in its own form (0.5 as 500m), leaves zero values out and turns a Secret's stringData into data.

The engine's state of an object is the live object, and the inputs that created it; secrets stay secrets. The outputs have
`__inputs`, `__initialApiVersion` and `__fieldManager` as the real provider keeps them, so that a stack can go from one provider
to the other.
"""

import base64
import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

from localazure.kubernetes.quantities import number
from localazure.kubernetes_plugin import objects
from localazure.kubernetes_plugin.objects import Object
from localazure.plugin.wire import Properties, Secret, is_unknown, leaves, opened

# Maps whose values are quantities, and single fields that are one.
_QUANTITY_MAPS = frozenset(
    {"allocatable", "capacity", "default", "defaultRequest", "hard", "limits", "max", "maxLimitRequestRatio", "min"}
    | {"overhead", "podFixed", "requests", "used"}
)
_QUANTITIES = frozenset({"divisor", "sizeLimit"})

_DASHED, _UNDERSCORED = "x-kubernetes-", "x_kubernetes_"  # Python's SDK has names of its own for what is no identifier


def sent(value: Any) -> Any:
    """A value of the engine's as the API takes it: whole numbers whole, fields by their own names, no nulls."""
    match value:
        case Secret():
            return Secret(sent(value.value))
        case Mapping():
            return {_renamed(key, _UNDERSCORED, "_", "-"): sent(each) for key, each in value.items() if each is not None}
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
            return {_renamed(key, _DASHED, "-", "_"): received(each) for key, each in value.items()}
        case list():
            return [received(each) for each in value]
        case _:
            return value


def _renamed(key: str, beginning: str, old: str, new: str) -> str:
    return key.replace(old, new) if key.startswith(beginning) else key


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
    return with_data(canonical(thing))


def with_data(inputs: Object) -> Object:
    """`inputs`, with a Secret's stringData in its data, as the server keeps it."""
    text, data = inputs.get("stringData"), inputs.get("data") or {}
    if inputs.get("kind") != "Secret" or not isinstance(text, Mapping) or not isinstance(data, Mapping):
        return inputs
    encoded = {key: _encoded(each) for key, each in text.items()}
    return {**{key: each for key, each in inputs.items() if key != "stringData"}, "data": {**data, **encoded}}


def live_inputs(live: Object, inputs: Object) -> Object:
    """What of a live object the program had a say in, in the program's spelling where it means the same."""
    return _pruned(live, with_data(inputs), "", "")


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


_INPUTS = "__inputs"
_API_VERSION = "__initialApiVersion"
_FIELD_MANAGER = "__fieldManager"


class SavedState(NamedTuple):
    """An earlier state, opened."""

    inputs: Object
    live: Object
    api_version: str
    manager: str  # "" where none was kept


def kept(state: Mapping[str, Any], old_inputs: Mapping[str, Any] | None = None) -> SavedState:
    """`old_inputs`: the engine's own copy, for a state that holds none."""
    plain: Object = opened(sent(state))
    inputs = plain.pop(_INPUTS, None) or opened(sent(old_inputs or {}))
    api_version, manager = plain.pop(_API_VERSION, ""), plain.pop(_FIELD_MANAGER, "")
    return SavedState(inputs, plain, api_version or inputs.get("apiVersion", ""), manager)


def manager_for(inputs: Object, earlier: str = "") -> str:
    """The name under which fields are owned: the annotation's, the earlier one, or a new one."""
    return objects.annotation(inputs, objects.FIELD_MANAGER) or earlier or f"pulumi-kubernetes-{secrets.token_hex(4)}"


def outputs(marked_inputs: Mapping[str, Any], live: Object, manager: str, api_version: str = "") -> Properties:
    """`marked_inputs`: the inputs, with `Secret`s where the program had some."""
    found = with_secrets_of(received(live), marked_inputs)
    if objects.annotation(live, objects.LAST_APPLIED) and (live.get("kind") == "Secret" or _holds_secret(marked_inputs)):
        # kubectl keeps a copy of the whole object there, secrets included.
        found["metadata"] = {**objects.metadata(live), "annotations": secret(objects.metadata(live)["annotations"])}
    if live.get("kind") == "Secret" and live.get("apiVersion") == "v1" and "data" in found:
        found["data"] = secret(found["data"])
    return {
        **found,
        _INPUTS: with_secrets_of(opened(marked_inputs), marked_inputs),
        _API_VERSION: api_version or live.get("apiVersion", ""),
        _FIELD_MANAGER: manager,
    }


def with_secrets_of(plain: Properties, marked: Mapping[str, Any]) -> Properties:
    """`plain` with secrets where `marked` has some: an object deeply, a list whole, since its order may change. What a Secret
    holds is always one."""
    of_a_secret = ("data", "stringData") if plain.get("kind") == "Secret" else ()
    found = {key: secret(value) if key in of_a_secret else value for key, value in plain.items()}
    for key, value in marked.items():
        if key not in found or key in of_a_secret:
            continue
        current = found[key]
        if isinstance(current, Mapping) and isinstance(value, Mapping):
            found[key] = with_secrets_of(dict(current), value)
        elif _holds_secret(value):
            found[key] = secret(current)
    return found


def secret(value: Any) -> Secret:
    return value if isinstance(value, Secret) else Secret(value)


def _holds_secret(value: Any) -> bool:
    return any(isinstance(each, Secret) for each in leaves(value))
