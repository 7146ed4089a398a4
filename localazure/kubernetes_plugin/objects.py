"""Helpers for an object of Kubernetes' API, which is a plain dict here. Values may be unknown during a preview."""

from collections.abc import Mapping
from typing import Any

from localazure.plugin.wire import is_unknown

Object = dict[str, Any]

_PREFIX = "pulumi.com/"
AUTONAMED = _PREFIX + "autonamed"
DELETION_PROPAGATION = _PREFIX + "deletionPropagationPolicy"
FIELD_MANAGER = _PREFIX + "patchFieldManager"
PATCH_FORCE = _PREFIX + "patchForce"
REPLACE_UNREADY = _PREFIX + "replaceUnready"
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
