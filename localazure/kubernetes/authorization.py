"""Azure RBAC for Kubernetes: what AKS's built-in roles allow in a cluster.

A SubjectAccessReview of Kubernetes becomes a data action, and the roles that have it. Pure. Roles' data actions: Microsoft Learn,
role-based-access-control/built-in-roles/containers, 2026-08. How a request becomes a data action: kubeguard/guard,
authz/providers/azure/rbac, of which AKS's own webhook is made.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from azure_gpu.catalog import roles

_EVERYTHING = "*"
_READ, _WRITE, _DELETE = "read", "write", "delete"
_ACTIONS = {
    **dict.fromkeys(("get", "list", "watch"), _READ),
    **dict.fromkeys(("create", "update", "patch"), _WRITE),
    **dict.fromkeys(("delete", "deletecollection"), _DELETE),
}
# What Reader reads, and of it what Writer doesn't change; `extensions` is a group that Kubernetes no longer serves.
_READ_BY_ALL = (
    "apps/controllerrevisions", "discovery.k8s.io/endpointslices", "events.k8s.io/events", "limitranges", "metrics.k8s.io/pods",
    "metrics.k8s.io/nodes", "namespaces", "resourcequotas",
)  # fmt: skip
_CHANGED_BY_WRITER = (
    "apps/daemonsets", "apps/deployments", "apps/replicasets", "apps/statefulsets", "autoscaling/horizontalpodautoscalers",
    "batch/cronjobs", "batch/jobs", "configmaps", "endpoints", "events", "extensions/daemonsets", "extensions/deployments",
    "extensions/ingresses", "extensions/networkpolicies", "extensions/replicasets", "networking.k8s.io/ingresses",
    "networking.k8s.io/networkpolicies", "persistentvolumeclaims", "pods", "policy/poddisruptionbudgets",
    "replicationcontrollers", "serviceaccounts", "services",
)  # fmt: skip
_WRITERS_OWN = ("secrets/*", *(f"coordination.k8s.io/leases/{action}" for action in (_READ, _WRITE, _DELETE)))


class _Role(NamedTuple):
    allowed: tuple[str, ...]
    withheld: tuple[str, ...] = ()


_ROLES = {
    roles.AKS_RBAC_CLUSTER_ADMIN: _Role((_EVERYTHING,)),
    roles.AKS_RBAC_ADMIN: _Role(
        (_EVERYTHING,), ("resourcequotas/write", "resourcequotas/delete", "namespaces/write", "namespaces/delete")
    ),
    roles.AKS_RBAC_WRITER: _Role(
        (*(f"{one}/*" for one in _CHANGED_BY_WRITER), *_WRITERS_OWN, *(f"{one}/{_READ}" for one in _READ_BY_ALL))
    ),
    roles.AKS_RBAC_READER: _Role(tuple(f"{one}/{_READ}" for one in (*_CHANGED_BY_WRITER, *_READ_BY_ALL))),
}


class RequestedAction(NamedTuple):
    """Who requests which action, and where."""

    user: str  # object id
    groups: tuple[str, ...]  # object ids of groups, and Kubernetes' own
    namespace: str  # empty: the whole cluster
    action: str  # what follows on Microsoft.ContainerService/managedClusters/


def requested(spec: Mapping[str, Any]) -> RequestedAction:
    """`spec`: of a SubjectAccessReview."""
    request = spec.get("resourceAttributes") or {}
    action = _data_action(request) if request else _path_action(spec.get("nonResourceAttributes") or {})
    groups = tuple(str(group) for group in spec.get("groups") or ())
    return RequestedAction(str(spec.get("user", "")), groups, str(request.get("namespace", "")), action)


def granting(action: str) -> frozenset[str]:
    """The roles, by GUID, that have a data action."""
    return frozenset(guid for guid, role in _ROLES.items() if _any(role.allowed, action) and not _any(role.withheld, action))


def _data_action(request: Mapping[str, Any]) -> str:
    verb, resource, below = (str(request.get(name, "")) for name in ("verb", "resource", "subresource"))
    above = f"{request['group']}/" if request.get("group") else ""
    if resource == "pods" and below == "exec":
        return f"{above}{resource}/exec/action"
    return f"{above}{resource}/{_ACTIONS.get(verb, f'{verb}/action')}"


def _path_action(request: Mapping[str, Any]) -> str:
    verb = str(request.get("verb", ""))
    return f"{str(request.get('path', '')).strip('/')}/{_ACTIONS.get(verb, f'{verb}/action')}"


def _any(patterns: tuple[str, ...], action: str) -> bool:
    return any(
        pattern in (_EVERYTHING, action) or (pattern.endswith("/*") and action.startswith(pattern[:-1])) for pattern in patterns
    )
