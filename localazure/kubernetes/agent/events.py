"""Events as the kubelet writes them: one object for what happens again and again to the same thing, counted.

Written in the background and in order; an event that can't be written is dropped, as the kubelet drops it.
"""

import asyncio
import secrets
from typing import Any

from localazure.kubernetes.agent import times
from localazure.kubernetes.client import KubeApi, KubeError

Body = dict[str, Any]
_MOST_WAITING = 2000
_KEPT = 2000
_MESSAGE_BYTES = 1024  # v1 Event: longer ones are refused


class Events:
    """Of all nodes of the cluster."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[tuple[str, ...], Body]] = asyncio.Queue(_MOST_WAITING)
        self._written: dict[tuple[str, ...], Body] = {}

    def of_pod(self, pod: Body, kind: str, reason: str, message: str, container: str = "") -> None:
        """`container`: the path of the container in the pod's spec, such as `spec.containers{main}`."""
        metadata = pod["metadata"]
        about = {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
            "resourceVersion": metadata.get("resourceVersion", ""),
            **({"fieldPath": container} if container else {}),
        }
        self._tell(about, metadata["namespace"], pod["spec"].get("nodeName", ""), kind, reason, message)

    def of_node(self, name: str, kind: str, reason: str, message: str) -> None:
        self._tell({"kind": "Node", "name": name, "uid": name}, "default", name, kind, reason, message)

    async def run(self, api: KubeApi) -> None:
        """For ever."""
        while True:
            key, event = await self._queue.get()
            try:
                await self._write(api, key, event)
            except KubeError:
                self._written.pop(key, None)

    def _tell(self, about: Body, namespace: str, node: str, kind: str, reason: str, message: str) -> None:
        now = times.now()
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{about['name']}.{secrets.token_hex(8)}", "namespace": namespace},
            "involvedObject": about,
            "reason": reason,
            "message": message[:_MESSAGE_BYTES],
            "source": {"component": "kubelet", "host": node},
            "reportingComponent": "kubelet",
            "reportingInstance": node,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": kind,
        }
        key = (about.get("uid", ""), about.get("fieldPath", ""), kind, reason, event["message"])
        if not self._queue.full():
            self._queue.put_nowait((key, event))

    async def _write(self, api: KubeApi, key: tuple[str, ...], event: Body) -> None:
        path = f"/api/v1/namespaces/{event['metadata']['namespace']}/events"
        before = self._written.pop(key, None)
        if before is not None:
            patch = {"count": before["count"] + 1, "lastTimestamp": event["lastTimestamp"]}
            name = before["metadata"]["name"]
            try:
                self._written[key] = await api.patch(f"{path}/{name}", patch, kind="strategic")
            except KubeError as error:
                if error.status != 404:  # after an hour it is gone, and is written again
                    raise
            else:
                return
        self._written[key] = await api.create(path, event)
        if len(self._written) > _KEPT:
            del self._written[next(iter(self._written))]
