"""One node: its object, its lease, its devices, and what its pods get of it.

The Node is registered and reported for as long as its record in `nodes.json` is there. What must not change over the agent's
restarts, its port and its range of addresses, is kept in its folder.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from localazure.folder import read_json, write_json
from localazure.kubernetes import control_plane
from localazure.kubernetes.agent import node_forms, times
from localazure.kubernetes.agent.settings import Settings
from localazure.kubernetes.client import KubeApi, KubeError
from localazure.kubernetes.control_plane_folder import ClusterFolder
from localazure.kubernetes.devices import NodeDevices

Body = dict[str, Any]
log = logging.getLogger(__name__)
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_LEASE_SECONDS, _STATUS_SECONDS, _AGAIN_SECONDS = 10.0, 300.0, 0.5
_FIRST_ADDRESS, _LAST_ADDRESS = 4, 254


class Node:
    """One that is wanted."""

    def __init__(self, record: Body, files: ClusterFolder, settings: Settings, taken: set[int]) -> None:
        """`taken`: the ranges of other nodes."""
        self.name: str = record["name"]
        self.record = record
        self.settings = settings
        self.folder = files.node(self.name)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.host = self.folder / "host"
        self.host.mkdir(exist_ok=True)
        self.images: dict[str, Body] = {}  # by whole reference
        self._kept = read_json(self.folder / "node.json") or {}
        self.number: int = self._kept.get("number") or next(number for number in range(1, 65536) if number not in taken)
        self._due = asyncio.Event()
        self.devices = NodeDevices(record, self.folder, self._due.set)
        self._addresses = _addresses(files.pods, self.name)
        self.object: Body | None = None
        self.port = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._registered = asyncio.Event()

    @property
    def allocatable(self) -> Body:
        return node_forms.status(self.record, self.port, {}, self.devices.allocatable(), "")["allocatable"]

    @property
    def preferred_port(self) -> int:
        return int(self._kept.get("port") or 0)

    @property
    def _cidr(self) -> str:
        return f"10.{244 + self.number // 256}.{self.number % 256}.0/24"

    # What pods get

    def address(self, uid: str) -> str:
        """Of a pod: from a private range, and for show. Where the range is used up, two pods show the same."""
        used = set(self._addresses.values())
        free = (one for one in range(_FIRST_ADDRESS, _LAST_ADDRESS + 1) if one not in used)
        last = self._addresses.get(uid) or next(free, _LAST_ADDRESS)
        self._addresses[uid] = last
        return self._cidr.replace(".0/24", f".{last}")

    def ports(self, container: Body) -> dict[int, int]:
        """A free port of this machine for each that the container declares."""
        found: dict[int, int] = {}
        for one in container.get("ports") or ():
            found[one["containerPort"]] = control_plane.free_port(set(found.values()) | _GIVEN)
            _GIVEN.add(found[one["containerPort"]])
        return found

    def give_back(self, uid: str, ports: Iterable[int]) -> None:
        """The pod has ended, or is gone: others may have what it had."""
        self.devices.release(uid)
        self._addresses.pop(uid, None)
        _GIVEN.difference_update(ports)

    # Its life

    def start(self, api: KubeApi, port: int) -> None:
        self.port = port
        self._tasks = [asyncio.create_task(self._live(api), name=self.name)]

    def apply(self, record: Body) -> None:
        """Another record of the same node."""
        self.record = record
        self.devices.node = record
        self._due.set()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def remove(self, api: KubeApi) -> None:
        """Its machine is gone. What registers it ends first: cancelled, it could reach the API server after the deletion."""
        await self._registered.wait()
        await self.stop()
        await deregister(api, self.name)

    async def _live(self, api: KubeApi) -> None:
        await _until_done(self._register, api)
        self._registered.set()
        leases = asyncio.create_task(_for_ever(self._renew, api, _LEASE_SECONDS))
        try:
            while True:
                self._due.clear()
                await _until_done(self._report, api)
                try:
                    async with asyncio.timeout(_STATUS_SECONDS):
                        await self._due.wait()
                except TimeoutError:
                    continue
        finally:
            leases.cancel()

    def _status(self, before: Body | None) -> Body:
        return node_forms.status(self.record, self.port, self.devices.capacity(), self.devices.allocatable(), times.now(), before)

    async def _register(self, api: KubeApi) -> None:
        found = await api.find(f"/api/v1/nodes/{self.name}")
        if found is None:
            self.object = await api.create("/api/v1/nodes", node_forms.new(self.record, self._cidr, self._status(None)))
            self._keep()
        else:
            self.object = found

    def _keep(self) -> None:
        """The record as it was applied last, so that the next agent knows what has changed."""
        self._kept = {"number": self.number, "port": self.port, "record": self.record}
        write_json(self.folder / "node.json", self._kept, durable=False)

    async def _report(self, api: KubeApi) -> None:
        path = f"/api/v1/nodes/{self.name}"
        assert self.object is not None, "it is registered before"
        before = self._kept.get("record") or self.record
        if before != self.record:
            self.object = await api.get(path)
            patch = node_forms.changes(self.record, before, self.object)
            if patch:
                self.object = await api.patch(path, patch, kind="merge")
        if before != self.record or self._kept.get("port") != self.port:
            self._keep()
        status = self._status(self.object.get("status"))
        try:
            self.object = await api.patch(f"{path}/status", {"status": status}, kind="merge")
        except KubeError as error:
            if error.status != 404:
                raise
            await self._register(api)  # somebody has deleted it; its machine is there

    async def _renew(self, api: KubeApi) -> None:
        assert self.object is not None, "it is registered before"
        lease = node_forms.lease(self.name, self.object["metadata"]["uid"], times.micro())
        try:
            await api.patch(f"{_LEASES}/{self.name}", lease, kind="merge")
        except KubeError as error:
            if error.status != 404:
                raise
            await api.create(_LEASES, lease)


_GIVEN: set[int] = set()  # ports that were given to containers of any node of this process


async def deregister(api: KubeApi, name: str) -> None:
    """The node's object and lease go."""
    while True:
        try:
            await api.delete(f"/api/v1/nodes/{name}")
            await api.delete(f"{_LEASES}/{name}")
            return
        except KubeError as error:
            log.warning("node %s can't be removed: %s", name, error)
            await asyncio.sleep(_AGAIN_SECONDS)


async def _until_done(step: Callable[[KubeApi], Any], api: KubeApi) -> None:
    while True:
        try:
            await step(api)
            return
        except (KubeError, OSError) as error:  # an API server that is away, a disk that is full: later neither may be
            log.warning("%s: %s", step.__qualname__, error)
            await asyncio.sleep(_AGAIN_SECONDS)


async def _for_ever(step: Callable[[KubeApi], Any], api: KubeApi, seconds: float) -> None:
    while True:
        await _until_done(step, api)
        await asyncio.sleep(seconds)


def _addresses(pods: Path, node: str) -> dict[str, int]:
    """The last part of each pod's address, by uid: of pods that an earlier agent has run."""
    records = {path.parent.name: read_json(path) or {} for path in pods.glob("*/pod.json")}
    return {uid: int(one["ip"].rpartition(".")[2]) for uid, one in records.items() if one.get("node") == node}
