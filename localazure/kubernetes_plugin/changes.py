"""Compares old and new inputs of an object: nothing, an update, or a replacement.

The table of what replaces is the real provider's. Source: pulumi/pulumi-kubernetes, provider/pkg/provider/diff.go.
"""

from collections.abc import Mapping
from typing import Any

from localazure.kubernetes_plugin import objects
from localazure.kubernetes_plugin.kinds import Kind
from localazure.kubernetes_plugin.objects import Object
from localazure.kubernetes_plugin.values import canonical_object
from localazure.plugin.diff import Change, Diff, Kind as How, object_changes

_IDENTITY = ("metadata.name", "metadata.namespace")
# Words of one text, for a reader to compare with the API's reference.
_POD = """
    affinity automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks hostAliases hostIPC hostNetwork hostPID hostname
    imagePullSecrets nodeName nodeSelector overhead preemptionPolicy priority priorityClassName readinessGates restartPolicy
    runtimeClassName schedulerName securityContext serviceAccount serviceAccountName shareProcessNamespace subdomain
    terminationGracePeriodSeconds volumes
"""
_CONTAINER = """
    args command env image imagePullPolicy lifecycle livenessProbe ports readinessProbe resources securityContext stdin stdinOnce
    terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir
"""
_VOLUME_SOURCES = """
    awsElasticBlockStore azureDisk azureFile cephfs cinder csi fc flexVolume flocker gcePersistentDisk glusterfs hostPath iscsi
    local nfs photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos vsphereVolume
"""
_SELECTOR = ("spec.selector",)
_STATEFUL_SET = tuple(
    f"spec.{each}" for each in ("podManagementPolicy", "revisionHistoryLimit", "selector", "serviceName", "volumeClaimTemplates")
)

FORCE_NEW: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "ConfigMap"): ("binaryData", "data"),
    ("", "PersistentVolume"): tuple(f"spec.{each}" for each in _VOLUME_SOURCES.split()),
    ("", "PersistentVolumeClaim"): ("spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName"),
    ("", "Pod"): (
        *(f"spec.{each}" for each in _POD.split()),
        *(f"spec.{kind}[].{each}" for kind in ("containers", "initContainers") for each in _CONTAINER.split()),
    ),
    ("", "ResourceQuota"): ("spec.scopes",),
    ("", "Secret"): ("type", "stringData", "data"),
    ("", "Service"): ("spec.clusterIP",),
    ("apps", "DaemonSet"): _SELECTOR,
    ("apps", "Deployment"): _SELECTOR,
    ("apps", "StatefulSet"): _STATEFUL_SET,
    ("batch", "Job"): ("spec.completions", "spec.parallelism", "spec.selector", "spec.template"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): ("roleRef",),
    ("rbac.authorization.k8s.io", "RoleBinding"): ("roleRef",),
    ("storage.k8s.io", "StorageClass"): ("parameters", "provisioner"),
}


def changes(kind: Kind, old: Object, new: Object, live: Object, *, namespaced: bool) -> Diff:
    """`old`, `new`: inputs. `live`: the object as last seen, which has the name that the server knows."""
    before, after = (canonical_object(_in_namespace(each, namespaced)) for each in (old, new))
    same_name = bool(objects.name(new)) and objects.name(new) == objects.name(live)
    if same_name:
        before["metadata"] = {**objects.metadata(before), "name": objects.name(live)}
    patterns = (*_IDENTITY, *FORCE_NEW.get((kind.group, kind.name), ()))
    found = tuple(
        Change(each.path, each.key, each.kind, _replaces(each, after, patterns)) for each in object_changes(before, after)
    )
    # A replacement can't exist beside what it replaces where it has the same name, and that name was given by hand.
    first = same_name and not objects.annotated(new, objects.AUTONAMED)
    first = first and (not namespaced or _namespace(new) == _namespace(live))
    return Diff(found, first and any(each.replaces for each in found))


def _replaces(change: Change, new: Object, patterns: tuple[str, ...]) -> bool:
    for pattern in patterns:
        if change.key == pattern or change.key.startswith((f"{pattern}.", f"{pattern}[")):
            return True
        # A whole branch is new, and what replaces is a leaf of it.
        inside = pattern.removeprefix(f"{change.key}.")
        if inside != pattern and change.kind is not How.DELETE and _has(_at(new, change.path), inside.split(".")):
            return True
    return False


def _at(thing: Any, path: str) -> Any:
    """The value at a plain path of the engine's (`spec.containers[1]`)."""
    for part in path.replace("[", ".[").split("."):
        if isinstance(thing, list) and part.startswith("[") and part[1:-1].isdigit():
            thing = thing[int(part[1:-1])]
        elif isinstance(thing, Mapping):
            thing = thing.get(part)
        else:
            return None
    return thing


def _has(thing: Any, keys: list[str]) -> bool:
    if not keys:
        return True
    first, rest = keys[0], keys[1:]
    if not isinstance(thing, Mapping) or first.removesuffix("[]") not in thing:
        return False
    inner = thing[first.removesuffix("[]")]
    if first.endswith("[]"):
        return isinstance(inner, list) and any(_has(each, rest) for each in inner)
    return _has(inner, rest)


def _in_namespace(inputs: Object, namespaced: bool) -> Object:
    """Without a namespace where the kind has none; in `default` where it isn't set. Without what the server alone writes."""
    given = inputs.get("metadata")
    if not isinstance(given, Mapping):
        return inputs
    found = {key: value for key, value in given.items() if key not in (*objects.SERVER_METADATA, "namespace")}
    if namespaced:
        found["namespace"] = _namespace(inputs)
    return {**inputs, "metadata": found}


def _namespace(thing: Object) -> str:
    return objects.namespace(thing) or objects.DEFAULT_NAMESPACE
