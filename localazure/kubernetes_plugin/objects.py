"""Helpers for an object of Kubernetes' API, which is a plain dict here. Values may be unknown during a preview.

An object whose program gave no name has the logical name, a dash, and eight hexadecimal digits, and the annotation
`pulumi.com/autonamed`, by which a later plan knows that a replacement may exist beside what it replaces.
"""

import hashlib
import secrets
from collections.abc import Mapping
from typing import Any

from localazure.plugin.naming import Autonaming
from localazure.plugin.wire import is_unknown

Object = dict[str, Any]

_PREFIX = "pulumi.com/"
AUTONAMED = _PREFIX + "autonamed"
DELETION_PROPAGATION = _PREFIX + "deletionPropagationPolicy"
FIELD_MANAGER = _PREFIX + "patchFieldManager"
PATCH_FORCE = _PREFIX + "patchForce"
SKIP_AWAIT = _PREFIX + "skipAwait"
TIMEOUT_SECONDS = _PREFIX + "timeoutSeconds"
WAIT_FOR = _PREFIX + "waitFor"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

DEFAULT_NAMESPACE = "default"

# What the server writes into every object's metadata.
SERVER_METADATA = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)


def metadata(thing: Mapping[str, Any]) -> Mapping[str, Any]:
    found = thing.get("metadata")
    return found if isinstance(found, Mapping) else {}


def name(thing: Mapping[str, Any]) -> str:
    return metadata(thing).get("name") or ""


def namespace(thing: Mapping[str, Any]) -> str:
    return metadata(thing).get("namespace") or ""


def namespace_or_default(thing: Mapping[str, Any]) -> str:
    return namespace(thing) or DEFAULT_NAMESPACE


def annotation(thing: Mapping[str, Any], key: str) -> str:
    """The annotation's value, empty where there is none or it isn't known yet."""
    found = metadata(thing).get("annotations")
    value = found.get(key) if isinstance(found, Mapping) else None
    return value if isinstance(value, str) and not is_unknown(value) else ""


def annotated(thing: Mapping[str, Any], key: str) -> bool:
    return annotation(thing, key) == "true"


def path(thing: Any, *keys: str) -> Any:
    """What lies at `keys`, None where nothing does."""
    for key in keys:
        if not isinstance(thing, Mapping):
            return None
        thing = thing.get(key)
    return thing


def identity(thing: Mapping[str, Any]) -> str:
    """`namespace/name`, or the name of what is in no namespace: the engine's id."""
    return f"{namespace(thing)}/{name(thing)}" if namespace(thing) else name(thing)


def namespace_and_name(engine_id: str) -> tuple[str, str]:
    space, _, own = engine_id.rpartition("/")
    return space, own


_DIGITS = 8


def named(inputs: Object, old_inputs: Object, logical_name: str, seed: bytes, autonaming: Autonaming | None) -> Object:
    """`inputs` with a name. ValueError where naming is disabled and there is none."""
    if is_unknown(inputs.get("metadata")) or name(inputs) or metadata(inputs).get("generateName"):
        return inputs
    if old_inputs:
        return _with_name(inputs, name(old_inputs)) if annotated(old_inputs, AUTONAMED) else inputs
    if autonaming and autonaming.mode == Autonaming.DISABLE:
        raise ValueError("autonaming is disabled, resource requires the .metadata.name field to be set")
    if autonaming:
        return _with_name(inputs, autonaming.proposed_name)
    # The same seed gives the same name, so that an update plan and its execution agree.
    digits = hashlib.sha256(seed).hexdigest() if seed else secrets.token_hex(_DIGITS)
    return _with_name(inputs, f"{logical_name}-{digits[:_DIGITS]}")


def _with_name(inputs: Object, own: str) -> Object:
    found: dict[str, Any] = {**metadata(inputs), "name": own}
    annotations = found.get("annotations") or {}
    if isinstance(annotations, Mapping):
        found["annotations"] = {**annotations, AUTONAMED: "true"}
    return {**inputs, "metadata": found}
