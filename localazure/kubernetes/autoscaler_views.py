"""Pods, nodes and pools as the cluster autoscaler sees them, read from API objects, and its profile from ARM's. Pure.

Amounts of a `PodView` and a `NodeView` are exact numbers in whole units. Of a pod's wishes count requests, node selector,
required node affinity and tolerations; affinity between pods and spread are passed over. Whether a pod could run on a node is
said in the words of the scheduler. Defaults of a profile: Microsoft Learn, articles/aks/cluster-autoscaler.md.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, NamedTuple

from localazure.kubernetes.quantities import number

_UNITS = {"s": 1, "m": 60, "h": 3600}
MAX_EMPTY = "max-empty-bulk-delete"
Profile = Mapping[str, Any]  # by ARM's names: how the autoscaler of one cluster decides
_DEFAULTS = {
    "scan-interval": timedelta(seconds=10),
    "new-pod-scale-up-delay": timedelta(),
    "max-node-provision-time": timedelta(minutes=15),
    "scale-down-delay-after-add": timedelta(minutes=10),
    "scale-down-delay-after-failure": timedelta(minutes=3),
    "scale-down-unneeded-time": timedelta(minutes=10),
    "scale-down-unready-time": timedelta(minutes=20),
}


def profile(given: Mapping[str, str]) -> Profile:
    """What can't be read counts as not said; the ARM kind has refused it."""
    times = {name: _time(str(given.get(name) or ""), default) for name, default in _DEFAULTS.items()}
    return {**times, MAX_EMPTY: int(given.get(MAX_EMPTY) or 10)}


def _time(text: str, default: timedelta) -> timedelta:
    if text[-1:] in _UNITS and text[:-1].replace(".", "", 1).isdigit():
        return timedelta(seconds=float(text[:-1]) * _UNITS[text[-1]])
    return default


Amounts = Mapping[str, Fraction]
GPU = "nvidia.com/gpu"
_PODS = "pods"


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


NO_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
UNSCHEDULABLE = "node(s) were unschedulable"
_HARD = ("NoSchedule", "NoExecute")
_PASSING = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "DeletionCandidateOf")


def against(pod: PodView, node: NodeView, free: Amounts) -> str:
    """Why the pod can't run there; "" where it can."""
    if node.unschedulable:
        return UNSCHEDULABLE
    for taint in node.taints:
        if taint.get("effect") in _HARD and not tolerated(taint, pod.tolerations):
            value = taint.get("value") or ""
            return (
                "node(s) had untolerated taint(s)"
                if not taint.get("key")
                else f"node(s) had untolerated taint {{{taint['key']}: {value}}}"
            )
    if not selects(pod, node):
        return NO_AFFINITY
    for name, amount in sorted(pod.requests.items()):
        if amount > free.get(name, Fraction(0)):
            return "Too many pods" if name == "pods" else f"Insufficient {name}"
    return ""


def lasting_taints(taints: Sequence[Mapping[str, str]]) -> tuple[Mapping[str, str], ...]:
    """Those that a new node of the same pool would have, too."""
    return tuple(one for one in taints if not str(one.get("key", "")).startswith(_PASSING))


def tolerated(taint: Mapping[str, str], tolerations: Sequence[Mapping[str, Any]]) -> bool:
    for one in tolerations:
        if one.get("effect") and one["effect"] != taint.get("effect"):
            continue
        if one.get("key") and one["key"] != taint.get("key"):
            continue
        operator = one.get("operator") or "Equal"
        if operator == "Exists" or (one.get("key") and (one.get("value") or "") == (taint.get("value") or "")):
            return True
    return False


def selects(pod: PodView, node: NodeView) -> bool:
    """Whether the pod's selector and required affinity select the node."""
    if any(node.labels.get(name) != value for name, value in pod.selector.items()):
        return False
    return not pod.affinity or any(_term(term, node) for term in pod.affinity)


def _term(term: Mapping[str, Any], node: NodeView) -> bool:
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False
    return all(_expression(one, node.labels) for one in expressions) and all(
        _expression(one, {"metadata.name": node.name}) for one in fields
    )


def _expression(one: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = one["key"], one.get("values") or []
    have = labels.get(key)
    match one["operator"]:
        case "In":
            return have in values
        case "NotIn":
            return have not in values
        case "Exists":
            return have is not None
        case "DoesNotExist":
            return have is None
        case "Gt" | "Lt" as operator:
            mine, limit = _integer(have), _integer(values[0] if values else None)
            if mine is None or limit is None:
                return False
            return mine > limit if operator == "Gt" else mine < limit
        case _:
            return False


def _integer(text: str | None) -> int | None:
    """None where it is none: the API server takes any text beside Gt and Lt, and the scheduler then takes no node."""
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
