"""Checks whether a pod could run on a node, in the words of the scheduler. Pure.

The result is the reason against it, such as `Insufficient nvidia.com/gpu`, or "" where it fits.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from localazure.kubernetes.autoscaler_views import Amounts, NodeView, PodView

NO_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
UNSCHEDULABLE = "node(s) were unschedulable"
_HARD = ("NoSchedule", "NoExecute")
_PASSING = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "ToBeDeletedByClusterAutoscaler", "DeletionCandidateOf")


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
