"""The engine's state of an object: the live object, and the inputs that created it. Secrets stay secrets.

The outputs have `__inputs`, `__initialApiVersion` and `__fieldManager` as the real provider keeps them, so that a stack can go
from one provider to the other.
"""

import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

from localazure.kubernetes_plugin import objects
from localazure.kubernetes_plugin.objects import Object
from localazure.kubernetes_plugin.values import received, sent
from localazure.plugin.wire import Properties, Secret, opened

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
    match value:
        case Secret():
            return True
        case Mapping():
            return any(_holds_secret(each) for each in value.values())
        case list():
            return any(_holds_secret(each) for each in value)
        case _:
            return False
