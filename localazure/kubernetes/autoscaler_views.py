"""Pods, nodes and pools as the cluster autoscaler sees them, read from API objects. Pure.

Amounts of a `PodView` and a `NodeView` are exact numbers in whole units. Of a pod's wishes count requests, node selector,
required node affinity and tolerations; affinity between pods and spread are passed over.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any, NamedTuple

from localazure.kubernetes.quantities import number

Amounts = Mapping[str, Fraction]
GPU = "nvidia.com/gpu"
_PODS = "pods"
_SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"


class PodView(NamedTuple):
    """One pod."""

    uid: str
    namespace: str
    name: str
    requests: Amounts
    node: str = ""
    pending_since: datetime | None = None  # the scheduler finds no node for it
    selector: Mapping[str, str] = {}
    affinity: tuple[Any, ...] = ()  # nodeSelectorTerms, one of which has to match
    tolerations: tuple[Mapping[str, Any], ...] = ()
    owner: str = ""  # the kind of its controller
    safe_to_evict: bool | None = None  # as its annotation says
    local_storage: bool = False
    labels: Mapping[str, str] = {}


class NodeView(NamedTuple):
    """A node, or what one of a pool would be."""

    name: str
    pool: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    allocatable: Amounts
    ready: bool = True
    unschedulable: bool = False
    created: datetime | None = None
    annotations: Mapping[str, str] = {}


def pod(told: Mapping[str, Any]) -> PodView:
    spec, meta, status = told["spec"], told["metadata"], told.get("status", {})
    owner = next((one for one in meta.get("ownerReferences", []) if one.get("controller")), {})
    terms = (
        ((spec.get("affinity") or {}).get("nodeAffinity") or {})
        .get("requiredDuringSchedulingIgnoredDuringExecution", {})
        .get("nodeSelectorTerms", [])
    )
    safe = (meta.get("annotations") or {}).get(_SAFE)
    return PodView(
        uid=meta["uid"],
        namespace=meta["namespace"],
        name=meta["name"],
        requests=requests(spec),
        node=spec.get("nodeName", ""),
        pending_since=None if spec.get("nodeName") or meta.get("deletionTimestamp") else _pending_since(status),
        selector=spec.get("nodeSelector") or {},
        affinity=tuple(terms),
        tolerations=tuple(spec.get("tolerations") or ()),
        owner=owner.get("kind", ""),
        safe_to_evict=None if safe is None else safe == "true",
        local_storage=any("emptyDir" in one or "hostPath" in one for one in spec.get("volumes") or ()),
        labels=meta.get("labels") or {},
    )


def ended(told: Mapping[str, Any]) -> bool:
    return told.get("status", {}).get("phase") in ("Succeeded", "Failed")


def requests(spec: Mapping[str, Any]) -> dict[str, Fraction]:
    """What the scheduler counts: the containers' sum with those init containers that stay, or the largest of the others."""
    total: dict[str, Fraction] = {_PODS: Fraction(1)}
    for container in spec.get("containers") or ():
        _add(total, _of(container))
    largest: dict[str, Fraction] = {}
    staying: dict[str, Fraction] = {}
    for container in spec.get("initContainers") or ():
        own = _of(container)
        if container.get("restartPolicy") == "Always":
            _add(staying, own)
            own = dict(staying)
        else:
            _add(own, staying)
        for name, amount in own.items():
            largest[name] = max(largest.get(name, Fraction(0)), amount)
    _add(total, staying)
    for name, amount in largest.items():
        total[name] = max(total.get(name, Fraction(0)), amount)
    _add(total, {name: number(amount) for name, amount in (spec.get("overhead") or {}).items()})
    return total


def node(told: Mapping[str, Any]) -> NodeView:
    status, spec, meta = told.get("status", {}), told.get("spec", {}), told["metadata"]
    ready = next((one for one in status.get("conditions", []) if one["type"] == "Ready"), {})
    is_ready = ready.get("status") == "True"
    return NodeView(
        name=meta["name"],
        pool=(meta.get("labels") or {}).get("kubernetes.azure.com/agentpool", ""),
        labels=meta.get("labels") or {},
        taints=tuple(spec.get("taints") or ()),
        allocatable={name: number(amount) for name, amount in status.get("allocatable", {}).items()},
        ready=is_ready,
        unschedulable=bool(spec.get("unschedulable")),
        created=moment(meta.get("creationTimestamp")),
        annotations=meta.get("annotations") or {},
    )


def of_template(template: Mapping[str, Any]) -> NodeView:
    """What a new node of a pool would be, as the autoscaler knows it from the size: GPUs are `nvidia.com/gpu`, whole ones."""
    allocatable = {name: number(amount) for name, amount in template["allocatable"].items()}
    if template["gpu_vendor"] == "nvidia" and template["gpus"]:
        allocatable[GPU] = Fraction(template["gpus"])
    return NodeView(
        f"template-node-for-{template['vmss']}", template["pool"], template["labels"], tuple(template["taints"]), allocatable
    )


def moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


def _pending_since(status: Mapping[str, Any]) -> datetime | None:
    for one in status.get("conditions", []):
        if one["type"] == "PodScheduled" and one["status"] == "False" and one.get("reason") == "Unschedulable":
            return moment(one.get("lastTransitionTime"))
    return None


def _of(container: Mapping[str, Any]) -> dict[str, Fraction]:
    resources = container.get("resources") or {}
    requested = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    said = set(resources.get("requests") or {}) | {name for name in resources.get("limits") or {} if "/" in name}
    return {name: number(requested[name]) for name in said}


def _add(total: dict[str, Fraction], more: Mapping[str, Fraction]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Fraction(0)) + amount


def sum_of(pods: Sequence[PodView]) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for one in pods:
        _add(total, one.requests)
    return total
