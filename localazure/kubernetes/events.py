"""Events of pods as the kubelet and the cluster autoscaler write them, for `kubectl describe` and `explain`.

They are core/v1 Events, written in the background and in order, and counted: one object for what happens again and again to the
same thing. One that can't be written is dropped.
"""

import asyncio
import secrets
from collections.abc import Mapping
from typing import Any

from localazure.kubernetes.agent import times
from localazure.kubernetes.client import KubeApi, KubeError

Body = dict[str, Any]
_MOST_WAITING = 2000
_KEPT = 2000
_MESSAGE_BYTES = 1024  # v1 Event: longer ones are refused


class Events:
    """Those of one component of the cluster."""

    def __init__(self, component: str) -> None:
        self._component = component
        self._queue: asyncio.Queue[Body] = asyncio.Queue(_MOST_WAITING)
        self._written: dict[tuple[str, ...], Body] = {}

    def of_pod(
        self, metadata: Mapping[str, Any], kind: str, reason: str, message: str, *, container: str = "", host: str = ""
    ) -> None:
        """`container`: the path of the container in the pod's spec, such as `spec.containers{main}`. `host`: who writes it."""
        now = times.now()
        about = {name: metadata.get(name, "") for name in ("namespace", "name", "uid", "resourceVersion")}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{about['name']}.{secrets.token_hex(8)}", "namespace": about["namespace"]},
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", **about, **({"fieldPath": container} if container else {})},
            "reason": reason,
            "message": message[:_MESSAGE_BYTES],
            "type": kind,
            "source": {"component": self._component, **({"host": host} if host else {})},
            "reportingComponent": self._component,
            "reportingInstance": host,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        if not self._queue.full():
            self._queue.put_nowait(event)

    async def run(self, api: KubeApi) -> None:
        """For ever."""
        while True:
            event = await self._queue.get()
            about = event["involvedObject"]
            key = (about["uid"], about.get("fieldPath", ""), event["type"], event["reason"], event["message"])
            try:
                await self._write(api, key, event)
            except KubeError:
                self._written.pop(key, None)

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
