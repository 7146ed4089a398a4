"""One pod on one of our nodes, from its admission to its end, and its status as the API server is told it.

A status is sent whenever it has changed, as a patch, in order. Behaviour: kubelet v1.36.2, pkg/kubelet/pod_workers.go and
kubelet.go (SyncPod).
"""

import asyncio
import contextlib
import logging
import shutil
from pathlib import Path
from typing import Any

from localazure.folder import read_json, write_json
from localazure.kubernetes import quantities
from localazure.kubernetes.agent import controllers, pod_status, times, volumes
from localazure.kubernetes.agent.container import Container
from localazure.kubernetes.agent.images import Registry
from localazure.kubernetes.agent.network import Network, new_loopback
from localazure.kubernetes.agent.node import Node
from localazure.kubernetes.agent.node_forms import ADDRESS
from localazure.kubernetes.agent.pod_facts import PodFacts
from localazure.kubernetes.client import KubeApi, KubeError
from localazure.kubernetes.devices import RefusedError
from localazure.kubernetes.events import Events

Body = dict[str, Any]
log = logging.getLogger(__name__)
_AGAIN_SECONDS = 0.5
_TOO_MANY = 429


_MOUNT_SECONDS, _MOST_MOUNT_SECONDS = 0.5, 122.0  # pkg/util/goroutinemap/exponentialbackoff
_REFRESH_SECONDS = 60.0  # ConfigMaps, Secrets and tokens in volumes
_ENDED = ("Succeeded", "Failed")
_UNEXPECTED = "UnexpectedAdmissionError"
_UNKNOWN = {  # pkg/kubelet/status/status_manager.go, TerminatePod
    "exitCode": 137,
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
    "startedAt": None,
    "finishedAt": None,
}
_GONE_GRACE = 2.0  # of a pod whose object is gone already


class Pod(PodFacts):
    """Its worker."""

    def __init__(
        self,
        body: Body,
        node: Node,
        api: KubeApi,
        registry: Registry,
        events: Events,
        folder: Path,
        network: Network,
    ) -> None:
        super().__init__(body, node, api, folder)
        self.registry = registry
        self.network = network
        self.path = f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"
        self._events = events
        self.inits = [Container(self, one, init=True) for one in body["spec"].get("initContainers") or ()]
        self.mains = [Container(self, one, init=False) for one in body["spec"]["containers"]]
        self.failure: tuple[str, str] | None = None  # reason and message of a pod that fails as a whole
        self.mounted_all = False
        self.start_time = str((body.get("status") or {}).get("startTime") or times.now())
        self._ending = asyncio.Event()  # it is deleted
        self._object_gone = False
        self._gave_back = False
        self._due = asyncio.Event()  # its status may have changed
        self._news = asyncio.Event()  # the same, for whoever waits for it here
        self._sent: Body | None = None

    @property
    def containers(self) -> list[Container]:
        return [*self.inits, *self.mains]

    @property
    def states(self) -> dict[str, pod_status.ContainerState]:
        return {one.name: one.state for one in self.containers}

    # What it is told

    def update(self, body: Body) -> None:
        self.body = body
        if body["metadata"].get("deletionTimestamp"):
            self._ending.set()

    def gone(self) -> None:
        """Its object doesn't exist any more, or its machine."""
        self._object_gone = True
        self._ending.set()

    # Its status

    @property
    def _status(self) -> Body:
        """The whole of it as it is now."""
        states, now = self.states, times.now()
        before = self.body.get("status") or {}
        phase = "Failed" if self.failure else pod_status.phase(self.body, states, over=self.over)
        if before.get("phase") in _ENDED:
            phase = before["phase"]
        found: Body = {
            "observedGeneration": self.body["metadata"].get("generation", 1),
            "phase": phase,
            "conditions": pod_status.conditions(self.body, states, phase, now, sandbox=self.mounted_all),
            "startTime": self.start_time,
            "hostIP": ADDRESS,
            "hostIPs": [{"ip": ADDRESS}],
            "containerStatuses": pod_status.container_statuses(self.body["spec"]["containers"], states),
        }
        if self.inits:
            found["initContainerStatuses"] = pod_status.container_statuses(self.body["spec"]["initContainers"], states)
        if self.ip:
            found |= {"podIP": self.ip, "podIPs": [{"ip": self.ip}]}
        if self.failure:
            found |= {"reason": self.failure[0], "message": self.failure[1]}
            if not self.mounted_all:  # it was never taken: its containers have no status
                found.pop("containerStatuses")
        return found

    def changed(self) -> None:
        self._due.set()
        self._news.set()

    async def _report(self) -> None:
        """For ever."""
        while True:
            await self._due.wait()
            self._due.clear()
            await self._tell()

    async def _tell(self) -> None:
        """The status as it is now has been told when this returns, where it is taken."""
        while (now := self._status) != self._sent:
            patch = {"metadata": {"uid": self.uid}, "status": now}
            try:
                told = await self.api.patch(f"{self.path}/status", patch, kind="strategic")
            except KubeError as error:
                if error.status in (404, 409):  # gone, or another pod has the name now
                    return
                log.warning("status of %s/%s: %s", self.namespace, self.name, error)
                if 400 <= error.status < 500 and error.status != _TOO_MANY:
                    return  # it won't be taken the next time either
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            self._sent = now
            if told["metadata"]["uid"] == self.uid and not self.body["metadata"].get("deletionTimestamp"):
                self.body = {**self.body, "status": told.get("status", {})}
            return

    # Its life

    async def run(self) -> None:
        """Until it is gone. Where it is cancelled, because the agent ends, its processes continue."""
        beside = [asyncio.create_task(self._report())]
        for controller in filter(None, (controllers.of_image(one.image) for one in self.containers)):
            beside.append(asyncio.create_task(controllers.carry(self) if controller.rotates else controllers.vouch(self)))
        self.update(self.body)
        try:
            await self._live()
            await self._ending.wait()
            await self._end()
            if not self._object_gone:
                await self._tell()
                await self._delete()
            self._give_back()
            await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)  # links lead to what isn't the pod's
        except BaseException:
            await asyncio.gather(*(one.leave() for one in self.containers))
            raise
        finally:
            for task in beside:
                task.cancel()

    async def _live(self) -> None:
        """Until it has ended by itself, or is deleted."""
        life = asyncio.create_task(self._life())
        ending = asyncio.create_task(self._ending.wait())
        try:
            await asyncio.wait([life, ending], return_when=asyncio.FIRST_COMPLETED)
            if life.done() and not self._ending.is_set():  # whatever went wrong with a pod that is deleted, it goes
                life.result()
        finally:
            for task in (life, ending):
                task.cancel()
            await asyncio.wait([life, ending])

    async def _life(self) -> None:
        if (self.body.get("status") or {}).get("phase") in _ENDED:
            self.over = True
            self._give_back()
        elif not self._admitted():
            return
        for one in self.containers:
            await one.take_up()
        if self.over:
            return
        self.mounted_all = self.volumes.exists()
        self.changed()
        deadline = self.body["spec"].get("activeDeadlineSeconds")
        left = None if deadline is None else max(0.0, times.seconds(self.start_time) + deadline - times.seconds(times.micro()))
        refreshing = asyncio.create_task(self._refresh())
        try:
            async with asyncio.timeout(left):
                await self._mount()
                await self._run_containers()
        except TimeoutError:
            message = "Pod was active on the node longer than the specified deadline"
            self.event("Normal", "DeadlineExceeded", message)
            self.failure = ("DeadlineExceeded", message)
        finally:
            refreshing.cancel()
        await asyncio.gather(*(one.stop(self.grace_seconds) for one in self.containers))
        self._over()

    def _over(self) -> None:
        self.over = True
        for one in self.mains if self._initialized else ():
            if one.state.waiting:
                one.state.end(one.state.last or _UNKNOWN)
        self._give_back()
        self.changed()

    @property
    def _initialized(self) -> bool:
        """Its init containers have done what they were to do, so that its others could begin."""
        if not self.inits or any(one.state.waiting is None or one.state.last for one in self.mains):
            return True
        last = self.inits[-1]
        if pod_status.is_sidecar(last.spec):
            return bool(last.state.running and last.state.started)
        ended = last.state.terminated or last.state.last
        return ended is not None and ended["exitCode"] == 0

    def _give_back(self) -> None:
        """Once: what it had may be another's by now."""
        if self._gave_back:
            return
        self._gave_back = True
        ports = [ours for found in self.record.get("ports", {}).values() for ours in found.values()]
        self.node.give_back(self.uid, ports)

    def _admitted(self) -> bool:
        """Whether the node takes it: its address, its ports, its devices, all of it kept for the next agent."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = read_json(self.folder / "pod.json")
        self.record = known or self._new_record()
        if known is None:
            try:
                for one in self.containers:
                    self.node.devices.allocate(self.uid, one.name, _extended(one.spec), self._reusable(one))
            except RefusedError as error:
                self._give_back()
                self.failure = (_UNEXPECTED, error.message)
                self.event("Warning", *self.failure)
                self.over = True
                self.changed()
                return False
            write_json(self.folder / "pod.json", self.record, durable=False)
        return True

    def _reusable(self, container: Container) -> list[str]:
        return [one.name for one in self.inits if one is not container and not pod_status.is_sidecar(one.spec)]

    def _new_record(self) -> Body:
        ports = {one.name: self.node.ports(one.spec) for one in self.containers}
        return {
            "namespace": self.namespace,
            "name": self.name,
            "node": self.node.name,
            "ip": self.node.address(self.uid),
            "loopback": new_loopback(),
            "ports": {name: {str(inside): ours for inside, ours in found.items()} for name, found in ports.items()},
        }

    async def _mount(self) -> None:
        wait = _MOUNT_SECONDS
        while True:
            try:
                await volumes.prepare(self)
                self.mounted_all = True
                self.changed()
                return
            except volumes.MountError as error:
                self.event("Warning", "FailedMount", str(error))
                await asyncio.sleep(wait)
                wait = min(wait * 2, _MOST_MOUNT_SECONDS)

    async def _refresh(self) -> None:
        while True:
            await asyncio.sleep(_REFRESH_SECONDS)
            with contextlib.suppress(Exception):  # what can't be read now stays as it is
                await volumes.prepare(self, again=True)

    async def _run_containers(self) -> None:
        """Init containers one after the other, sidecars until the end, then the others together."""
        sidecars: dict[Container, asyncio.Task[int]] = {}
        mains: list[asyncio.Task[int]] = []
        if self.inits:
            for one in self.mains:
                one.waits_for_init()
        try:
            begun = any(one.run or one.state.terminated for one in self.mains)
            for one in self.inits:
                if pod_status.is_sidecar(one.spec):
                    sidecars[one] = asyncio.create_task(one.life())
                    await self._until_started(one, sidecars[one])
                elif not begun and await one.life() != 0:
                    return
            mains = [asyncio.create_task(one.life()) for one in self.mains]
            await asyncio.gather(*mains)
            for one, life in reversed(sidecars.items()):
                life.cancel()  # or it would run again
                await asyncio.wait([life])
                await one.stop(self.grace_seconds)
        finally:
            for task in [*mains, *sidecars.values()]:
                task.cancel()
            if mains or sidecars:
                await asyncio.wait([*mains, *sidecars.values()])

    async def _until_started(self, container: Container, life: asyncio.Task[int]) -> None:
        while not container.state.started and not life.done():
            self._news.clear()
            await self._news.wait()

    async def _end(self) -> None:
        """Everything that still runs ends within the time that whoever deleted the pod has left it."""
        grace = self.body["metadata"].get("deletionGracePeriodSeconds")
        seconds = _GONE_GRACE if self._object_gone else float(self.grace_seconds if grace is None else grace)
        mains = [one for one in self.containers if not pod_status.is_sidecar(one.spec) or not one.init]
        await asyncio.gather(*(one.stop(seconds) for one in mains))
        for one in reversed([one for one in self.inits if pod_status.is_sidecar(one.spec)]):
            await one.stop(seconds)
        self._over()

    async def _delete(self) -> None:
        while not self._object_gone:
            try:
                await self.api.delete(self.path, grace_seconds=0, uid=self.uid)
                return
            except KubeError as error:
                log.warning("pod %s/%s can't be deleted: %s", self.namespace, self.name, error)
                await asyncio.sleep(1)

    def event(self, kind: str, reason: str, message: str, container: str = "") -> None:
        self._events.of_pod(self.body["metadata"], kind, reason, message, container=container, host=self.node.name)


def _extended(container: Body) -> dict[str, int]:
    """The resources that a container limits beside those that every node has."""
    limits = (container.get("resources") or {}).get("limits") or {}
    return {name: quantities.whole(amount) for name, amount in limits.items() if "/" in name}
