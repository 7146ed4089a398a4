"""Sends a pod's status to the API server whenever it has changed.

The status is sent as patches, in order; an unchanged one isn't sent.
"""

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from localazure.kubernetes.agent import pod_status, times
from localazure.kubernetes.agent.node_forms import ADDRESS
from localazure.kubernetes.client import KubeError

if TYPE_CHECKING:
    from localazure.kubernetes.agent.pod import Pod

Body = dict[str, Any]
log = logging.getLogger(__name__)
_AGAIN_SECONDS = 0.5
_TOO_MANY = 429


class Reporting:
    """Of one pod."""

    def __init__(self, pod: "Pod") -> None:
        self._pod = pod
        self._due = asyncio.Event()
        self._news = asyncio.Event()
        self._sent: Body | None = None

    def changed(self) -> None:
        self._due.set()
        self._news.set()

    async def next_change(self) -> None:
        self._news.clear()
        await self._news.wait()

    async def run(self) -> None:
        """For ever."""
        while True:
            await self._due.wait()
            self._due.clear()
            await self._tell()

    async def last(self) -> None:
        """The status as it is now has been told when this returns."""
        await self._tell()

    async def _tell(self) -> None:
        while True:
            now = status(self._pod)
            if now == self._sent:
                return
            patch = {"metadata": {"uid": self._pod.uid}, "status": now}
            path = f"/api/v1/namespaces/{self._pod.namespace}/pods/{self._pod.name}/status"
            try:
                told = await self._pod.api.patch(path, patch, kind="strategic")
            except KubeError as error:
                if error.status in (404, 409):  # gone, or another pod has the name now
                    return
                log.warning("status of %s/%s: %s", self._pod.namespace, self._pod.name, error)
                if 400 <= error.status < 500 and error.status != _TOO_MANY:
                    return  # it won't be taken the next time either
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            self._sent = now
            if told["metadata"]["uid"] == self._pod.uid and not self._pod.body["metadata"].get("deletionTimestamp"):
                self._pod.body = {**self._pod.body, "status": told.get("status", {})}
            return


def status(pod: "Pod") -> Body:
    """The whole status as it is now."""
    states, now = pod.states, times.now()
    before = pod.body.get("status") or {}
    phase = "Failed" if pod.failure else pod_status.phase(pod.body, states, over=pod.over)
    if before.get("phase") in ("Succeeded", "Failed"):
        phase = before["phase"]
    found: Body = {
        "observedGeneration": pod.body["metadata"].get("generation", 1),
        "phase": phase,
        "conditions": pod_status.conditions(pod.body, states, phase, now, sandbox=pod.mounted_all),
        "startTime": pod.start_time,
        "hostIP": ADDRESS,
        "hostIPs": [{"ip": ADDRESS}],
        "containerStatuses": pod_status.container_statuses(pod.body["spec"]["containers"], states),
    }
    if pod.inits:
        found["initContainerStatuses"] = pod_status.container_statuses(pod.body["spec"]["initContainers"], states)
    if pod.ip:
        found |= {"podIP": pod.ip, "podIPs": [{"ip": pod.ip}]}
    if pod.failure:
        found |= {"reason": pod.failure[0], "message": pod.failure[1]}
        if not pod.mounted_all:  # it was never taken: its containers have no status
            found.pop("containerStatuses")
    return found
