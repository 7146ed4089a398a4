"""Events of a cluster as the kubelet and the cluster autoscaler write them, for `kubectl describe` and `explain`.

They are core/v1 Events. The kubelet's are counted: one object for what happens again and again to the same thing, written in the
background and in order. The autoscaler's are sent once until they change. One that can't be written is dropped.
"""

import asyncio
import logging
import secrets
from typing import Any

from localazure.kubernetes.agent import times
from localazure.kubernetes.client import KubeApi, KubeError

Body = dict[str, Any]
AUTOSCALER = "cluster-autoscaler"
_MOST_WAITING = 2000
_KEPT = 2000
_MESSAGE_BYTES = 1024  # v1 Event: longer ones are refused
log = logging.getLogger(__name__)


def _event(about: Body, namespace: str, kind: str, reason: str, message: str, source: dict[str, str]) -> Body:
    now = times.now()
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{about['name']}.{secrets.token_hex(8)}", "namespace": namespace},
        "involvedObject": about,
        "reason": reason,
        "message": message[:_MESSAGE_BYTES],
        "type": kind,
        "source": source,
        "reportingComponent": source["component"],
        "reportingInstance": source.get("host", ""),
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }


def _path(event: Body) -> str:
    return f"/api/v1/namespaces/{event['metadata']['namespace']}/events"


class Events:
    """The kubelets' of all nodes of the cluster."""

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
        source = {"component": "kubelet", "host": pod["spec"].get("nodeName", "")}
        event = _event(about, metadata["namespace"], kind, reason, message, source)
        if not self._queue.full():
            self._queue.put_nowait(((about["uid"], container, kind, reason, event["message"]), event))

    async def run(self, api: KubeApi) -> None:
        """For ever."""
        while True:
            key, event = await self._queue.get()
            try:
                await self._write(api, key, event)
            except KubeError:
                self._written.pop(key, None)

    async def _write(self, api: KubeApi, key: tuple[str, ...], event: Body) -> None:
        path = _path(event)
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


class AutoscalerEvents:
    """Those of one cluster's autoscaler."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api
        self._said: dict[tuple[str, str], str] = {}  # by object and reason: the last message

    async def of_pod(self, namespace: str, name: str, uid: str, reason: str, message: str, kind: str = "Normal") -> None:
        about = {"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": name, "uid": uid}
        await self._say(uid, about, namespace, reason, message, kind)

    def keep(self, uids: set[str]) -> None:
        """Forgets what was said of pods that are gone."""
        self._said = {key: message for key, message in self._said.items() if key[0] in {*uids, ""}}

    async def _say(self, key: str, about: Body, namespace: str, reason: str, message: str, kind: str = "Normal") -> None:
        if self._said.get((key, reason)) == message:
            return
        self._said[key, reason] = message
        event = _event(about, namespace, kind, reason, message, {"component": AUTOSCALER})
        try:
            await self._api.create(_path(event), event)
        except KubeError as error:
            log.debug("an event was not written: %s", error)
