"""Removes nodes: cordons and drains them as `kubectl drain` does, and deletes their pods when the machine is gone.

Pods that can't be evicted in time are deleted with the node.
"""

import asyncio
import contextlib
import logging

from localazure.kubernetes.client import Body, KubeApi, KubeError

log = logging.getLogger(__name__)
_POLL_SECONDS = 0.2
_TOO_MANY = 429  # a disruption budget says not now
_NOT_MOVED = ("DaemonSet", "Node")


async def drain(api: KubeApi, node: str, seconds: float) -> None:
    """Takes no more pods, evicts those that `kubectl drain` evicts, and waits until they are gone, no longer than this."""
    with contextlib.suppress(KubeError):
        await api.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}})
    listed = await api.list("/api/v1/pods", fields=f"spec.nodeName={node}")
    moved = [
        one["metadata"]
        for one in listed["items"]
        if not any(owner.get("kind") in _NOT_MOVED for owner in one["metadata"].get("ownerReferences", []))
        and one.get("status", {}).get("phase") not in ("Succeeded", "Failed")
    ]
    deadline = asyncio.get_running_loop().time() + seconds
    await asyncio.gather(*(_evict(api, node, meta["namespace"], meta["name"], deadline) for meta in moved))


async def _evict(api: KubeApi, node: str, namespace: str, name: str, deadline: float) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
    request = False
    while asyncio.get_running_loop().time() < deadline:
        try:
            if not request:
                await api.create(f"{path}/eviction", body)
                request = True
            found = await api.find(path)
            if found is None or found["spec"].get("nodeName") != node:
                return
        except KubeError as error:
            if error.status == 404:
                return
            if error.status != _TOO_MANY:
                raise
        await asyncio.sleep(_POLL_SECONDS)


async def lose(api: KubeApi, pod: Body) -> None:
    """One pod fails and goes, and no other that has its name by now."""
    meta = pod["metadata"]
    path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
    why = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "message": "PodGC: node no longer exists"}
    try:
        if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
            status = {"phase": "Failed", "conditions": [why]}
            await api.patch(f"{path}/status", {"metadata": {"uid": meta["uid"]}, "status": status}, kind="strategic")
        await api.delete(path, grace_seconds=0, uid=meta["uid"])
    except KubeError as error:
        log.info("pod %s/%s of a node that is gone: %s", meta["namespace"], meta["name"], error)
