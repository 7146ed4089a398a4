"""Kueue: why a Job or a group of workers waits for its queue, and whether the queue has enough quota at all.

Without permission to read Kueue's objects nothing is reported.
"""

from typing import Any, Protocol

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.groups import SOURCE
from azure_gpu_operations.clusters.errors import ClusterError

_API = "/apis/kueue.x-k8s.io/v1beta1"


class Api(Protocol):
    """Requests to the cluster."""

    def get(self, path: str) -> dict[str, Any] | None: ...

    def items(self, path: str, **query: str) -> list[dict[str, Any]]: ...


def held(api: Api, namespace: str, name: str) -> str:
    """Why the Job or group of this name isn't admitted yet; "" if it is, or has no queue."""
    try:
        found = api.items(f"{_API}/namespaces/{namespace}/workloads")
    except ClusterError:
        return ""
    own = next(
        (each for each in found if any(one.get("name") == name for one in each["metadata"].get("ownerReferences") or [])), {}
    )
    conditions = {each.get("type"): each for each in (own.get("status") or {}).get("conditions") or []}
    reserved = conditions.get("QuotaReserved") or {}
    return str(reserved.get("message") or "Kueue hasn't evaluated it yet") if own and reserved.get("status") != "True" else ""


def problems(api: Api, namespace: str, queue: str, resource: str, requested: int) -> list[Problem]:
    """Whether the queue exists, and its quota is at least `requested`."""
    try:
        own = api.get(f"{_API}/namespaces/{namespace}/localqueues/{queue}")
        if own is None:
            names = sorted(each["metadata"]["name"] for each in _none(api, f"{_API}/namespaces/{namespace}/localqueues"))
            fix = "choose an allowed one, or add it to the cluster's `queues` and run `pulumi up`"
            message = "the namespace has no queue of this name"
            return [
                Problem(
                    "--queue", message, queue, ", ".join(names) or "none: the namespace has no queues", fix, code=Code.NOT_FOUND
                )
            ]
        queues = {each["metadata"]["name"]: each["spec"] for each in api.items(f"{_API}/clusterqueues")}
    except ClusterError as error:
        if error.status == 403:
            return []
        raise
    try:
        most = _most(queues, str(own["spec"]["clusterQueue"]), resource)
    except ValueError:  # a queue outside the stack with an amount such as 2k
        return []
    if most is None or requested <= most:
        return []
    message = f"the run requests {requested} of {resource}, and the queue {queue} has at most {most}, including borrowed quota"
    fix = "request less, or raise `gpus` of the queue in the stack's file and run `pulumi up`"
    return [Problem("--nodes", message, requested, f"at most {most}", fix, source=str(SOURCE), code=Code.IMPOSSIBLE)]


def _none(api: Api, path: str) -> list[dict[str, Any]]:
    """Empty if the cluster doesn't know the kind."""
    try:
        return api.items(path)
    except ClusterError as error:
        if error.status == 404:
            return []
        raise


def _most(queues: dict[str, Any], name: str, resource: str) -> int | None:
    """Maximum of the resource for one queue; None if unknown."""
    own = queues.get(name)
    if own is None:
        return None
    quota, limit = _quota(own, resource)
    cohort = own.get("cohort")
    others = sum(
        _quota(spec, resource)[0] for each, spec in queues.items() if cohort and each != name and spec.get("cohort") == cohort
    )
    return quota + (others if limit is None else min(limit, others))


def _quota(spec: dict[str, Any], resource: str) -> tuple[int, int | None]:
    """Its quota, and its borrowing limit; None: no limit."""
    quota, limits = 0, []
    for group in spec.get("resourceGroups") or []:
        for flavor in group.get("flavors") or []:
            for each in flavor.get("resources") or []:
                if each.get("name") == resource:
                    quota += int(each.get("nominalQuota") or 0)
                    limits.append(int(each["borrowingLimit"]) if "borrowingLimit" in each else None)
    known = [each for each in limits if each is not None]
    return quota, sum(known) if known and len(known) == len(limits) else None
