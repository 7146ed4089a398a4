"""The downward API: what a pod's variables and volumes may know of the pod itself. Pure.

Behaviour: kubelet v1.36.2, pkg/fieldpath/fieldpath.go and pkg/api/v1/resource/helpers.go.
"""

import re
from typing import Any

from localazure.kubernetes.agent import quantities

Body = dict[str, Any]
_ONE_OF_MANY = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


class FieldError(Exception):
    """A field that doesn't exist for the asking."""


def field(pod: Body, path: str, host_ip: str, pod_ip: str) -> str:
    """The text of `fieldRef.fieldPath`."""
    metadata, spec = pod["metadata"], pod["spec"]
    found = _ONE_OF_MANY.fullmatch(path)
    if found:
        return str((metadata.get(found[1]) or {}).get(found[2], ""))
    texts = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "metadata.labels": _map(metadata.get("labels")),
        "metadata.annotations": _map(metadata.get("annotations")),
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "status.hostIP": host_ip,
        "status.hostIPs": host_ip,
        "status.podIP": pod_ip,
        "status.podIPs": pod_ip,
    }
    if path not in texts:
        raise FieldError(f"unsupported fieldPath: {path}")
    return str(texts[path])


def resource(pod: Body, reference: Body, container: Body | None, allocatable: Body) -> str:
    """The text of a `resourceFieldRef`. A limit that isn't set is what the node has."""
    name = reference.get("containerName")
    if name:
        every = [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or [])]
        container = next((one for one in every if one["name"] == name), None)
    if container is None:
        raise FieldError(f"container {name} not found")
    which, _, kind = reference["resource"].partition(".")
    resources = container.get("resources") or {}
    amount = (resources.get(which) or {}).get(kind)
    if amount is None and which == "limits":
        amount = allocatable.get(kind)
    return str(quantities.divided(amount or "0", reference.get("divisor") or "1"))


def _map(values: Body | None) -> str:
    """One `name="text"` a line, as a volume has them."""
    return "\n".join(f"{name}={_quoted(str(text))}" for name, text in sorted((values or {}).items()))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
