"""Azure RBAC for Kubernetes: what AKS's built-in roles allow in a cluster.

A SubjectAccessReview of Kubernetes becomes a data action, and the roles that have it. Pure. Roles' data actions are in
`roles.toml`. How a request becomes a data action: kubeguard/guard, authz/providers/azure/rbac, of which AKS's own webhook is
made.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.catalog import roles

_EVERYTHING = "*"
_READ, _WRITE, _DELETE = "read", "write", "delete"
_ACTIONS = {
    **dict.fromkeys(("get", "list", "watch"), _READ),
    **dict.fromkeys(("create", "update", "patch"), _WRITE),
    **dict.fromkeys(("delete", "deletecollection"), _DELETE),
}


def _roles() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """By GUID, what a role allows, and what it withholds of that."""
    rows = tomllib.loads(Path(__file__).with_name("roles.toml").read_text(encoding="utf-8"))
    changed, shown = rows["changed_by_writer"], rows["read_by_all"]
    kept = ("resourcequotas/write", "resourcequotas/delete", "namespaces/write", "namespaces/delete")
    written = (*(f"{one}/*" for one in changed), *rows["writers_own"], *(f"{one}/{_READ}" for one in shown))
    return {
        roles.AKS_RBAC_CLUSTER_ADMIN: ((_EVERYTHING,), ()),
        roles.AKS_RBAC_ADMIN: ((_EVERYTHING,), kept),
        roles.AKS_RBAC_WRITER: (written, ()),
        roles.AKS_RBAC_READER: (tuple(f"{one}/{_READ}" for one in (*changed, *shown)), ()),
    }


_ROLES = _roles()


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
    return frozenset(guid for guid, (allowed, withheld) in _ROLES.items() if _any(allowed, action) and not _any(withheld, action))


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
