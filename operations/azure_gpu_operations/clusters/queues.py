"""What Kueue says of a Job or a group of workers that a queue admits, and what a queue has at best.

In: a cluster's API, a namespace, names. Out: why it waits; how much there is, problems. Whoever may not read it is told nothing.
"""

from typing import Any, Protocol

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.groups import SOURCE
from azure_gpu_operations.clusters.errors import ClusterError

_API = "/apis/kueue.x-k8s.io/v1beta1"


class Api(Protocol):
    """What is asked of a cluster."""

    def get(self, path: str) -> dict[str, Any] | None: ...

    def items(self, path: str, **query: str) -> list[dict[str, Any]]: ...


def held(api: Api, namespace: str, name: str) -> str:
    """Why nothing of the Job or group of this name is admitted yet; "" where it is, or no queue admits it."""
    try:
        found = api.items(f"{_API}/namespaces/{namespace}/workloads")
    except ClusterError:
        return ""
    own = next(
        (each for each in found if any(one.get("name") == name for one in each["metadata"].get("ownerReferences") or [])), {}
    )
    conditions = {each.get("type"): each for each in (own.get("status") or {}).get("conditions") or []}
    reserved = conditions.get("QuotaReserved") or {}
    return str(reserved.get("message") or "it hasn't been looked at yet") if own and reserved.get("status") != "True" else ""


def problems(api: Api, namespace: str, queue: str, resource: str, asked: int) -> list[Problem]:
    """Whether the queue is there, and ever has so many."""
    try:
        own = api.get(f"{_API}/namespaces/{namespace}/localqueues/{queue}")
        if own is None:
            names = sorted(each["metadata"]["name"] for each in _none(api, f"{_API}/namespaces/{namespace}/localqueues"))
            fix = "write one of those allowed, or add it to the cluster's `queues`, then `pulumi up`"
            message = "the namespace has no queue of this name"
            return [Problem("--queue", message, queue, ", ".join(names) or "none: there are no queues", fix, code=Code.NOT_FOUND)]
        queues = {each["metadata"]["name"]: each["spec"] for each in api.items(f"{_API}/clusterqueues")}
    except ClusterError as error:
        if error.status == 403:
            return []
        raise
    try:
        most = _most(queues, str(own["spec"]["clusterQueue"]), resource)
    except ValueError:  # an amount of somebody's own queues that isn't written as a number, such as 2k
        return []
    if most is None or asked <= most:
        return []
    message = f"all of it asks for {asked} of {resource}, and the queue {queue} has {most}, what it may borrow included"
    fix = "ask for less, or raise `gpus` of the queue in the stack's file, then `pulumi up`"
    return [Problem("--nodes", message, asked, f"{most} in all", fix, source=str(SOURCE), code=Code.IMPOSSIBLE)]


def _none(api: Api, path: str) -> list[dict[str, Any]]:
    """Nothing where the cluster has no such kind."""
    try:
        return api.items(path)
    except ClusterError as error:
        if error.status == 404:
            return []
        raise


def _most(queues: dict[str, Any], name: str, resource: str) -> int | None:
    """Of the resource, for one queue; None where that can't be known."""
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
    """Its own, and how much more it may borrow; None: what there is."""
    quota, limits = 0, []
    for group in spec.get("resourceGroups") or []:
        for flavor in group.get("flavors") or []:
            for each in flavor.get("resources") or []:
                if each.get("name") == resource:
                    quota += int(each.get("nominalQuota") or 0)
                    limits.append(int(each["borrowingLimit"]) if "borrowingLimit" in each else None)
    known = [each for each in limits if each is not None]
    return quota, sum(known) if known and len(known) == len(limits) else None
