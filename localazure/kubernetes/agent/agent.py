"""The agent: the nodes that are wanted, and the pods that are bound to them.

It does what the cluster's kubelets would do, until it is asked to end. What pods run continues then, and the next agent takes it
up.
"""

import asyncio
import logging
import shutil
from collections.abc import Coroutine
from typing import Any

from localazure.kubernetes import draining
from localazure.kubernetes.agent import leftovers, settings
from localazure.kubernetes.agent.images import Registry
from localazure.kubernetes.agent.kubelet_api import KubeletApi
from localazure.kubernetes.agent.network import Network
from localazure.kubernetes.agent.node import Node, deregister
from localazure.kubernetes.agent.pod import Pod
from localazure.kubernetes.agent.reflected import Reflected
from localazure.kubernetes.agent.settings import Changes
from localazure.kubernetes.agent.streams import Streams
from localazure.kubernetes.client import KubeApi
from localazure.kubernetes.control_plane_folder import ClusterFolder
from localazure.kubernetes.events import Events

Body = dict[str, Any]
log = logging.getLogger(__name__)
_LOOK_SECONDS = 0.1  # between two looks whether a file was replaced
_AGAIN_SECONDS = 2.0


class Agent:
    """Of one cluster."""

    def __init__(self, files: ClusterFolder) -> None:
        self.files = files
        files.agent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.pods.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.settings = settings.read(files.agent_settings)
        self.api = KubeApi.of_agent(files.agent_settings)
        self.events = Events("kubelet")
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.reflected = Reflected(lambda: self.api, "/api/v1/pods", self._told, fields="spec.nodeName!=")
        self.network = Network(files.network, lambda: self.api, self.pods)
        self._registry = self._new_registry()
        self._workers: dict[str, asyncio.Task[None]] = {}
        self._removals: set[asyncio.Task[None]] = set()
        self._placed = asyncio.Event()  # the wanted nodes are known
        self._kubelet = KubeletApi(lambda: self.settings, self.pods, Streams(self.settings.programs, files.agent))

    def _new_registry(self) -> Registry:
        return Registry(self.settings.embedded, self.settings.embedded_authority, self.settings.token)

    async def run(self) -> None:
        """Until it is cancelled."""
        tasks = [
            asyncio.create_task(self.reflected.run()),
            asyncio.create_task(self.events.run(self.api)),
            asyncio.create_task(self.network.run()),
            asyncio.create_task(self._look()),
            asyncio.create_task(self._end_orphans()),
        ]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in [*tasks, *self._workers.values(), *self._removals]:
                task.cancel()
            await asyncio.wait([*tasks, *self._workers.values(), *self._removals])
            await asyncio.gather(*(node.stop() for node in self.nodes.values()))
            await self._kubelet.close()
            await self.api.close()

    async def _end_orphans(self) -> None:
        """What is left of pods that were deleted, or whose node was taken away, while no agent ran."""
        await self._placed.wait()
        await self.reflected.synced.wait()
        kept = [uid for uid, pod in self.reflected.known.items() if pod["spec"].get("nodeName") in self.nodes]
        await leftovers.end_orphans(self.files.pods, kept)

    # Nodes

    async def _look(self) -> None:
        """Follows the two files."""
        about, requested = Changes(self.files.agent_settings), Changes(self.files.nodes)
        about.any()
        while True:
            if about.any():
                self.settings = settings.read(self.files.agent_settings)
                self._registry = self._new_registry()
                for pod in self.pods.values():
                    pod.registry = self._registry
            if requested.any():
                records = settings.nodes(self.files.nodes)
                await self._apply(records)
                if not self._placed.is_set():
                    self._placed.set()
                    for folder in self.files.node("any").parent.glob("*/"):
                        if folder.name not in records:
                            self._removing(self._remove(folder.name, None))
            await asyncio.sleep(_LOOK_SECONDS)

    async def _apply(self, records: dict[str, Body]) -> None:
        for name in [name for name in self.nodes if name not in records]:
            self._removing(self._remove(name, self.nodes.pop(name)))
        for name, record in records.items():
            if name in self.nodes:
                if self.nodes[name].record != record:
                    self.nodes[name].apply(record)
                continue
            node = Node(record, self.files, self.settings, {one.number for one in self.nodes.values()})
            port = await self._kubelet.serve(node)
            self.nodes[name] = node
            node.start(self.api, port)
            for pod in list(self.reflected.known.values()):
                self._told(pod, False)

    def _removing(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._removals.add(task)
        task.add_done_callback(self._removals.discard)

    async def _remove(self, name: str, node: Node | None) -> None:
        """The machine is gone: its object first, so that nothing is placed on it any more, then what was on it.

        `node`: None where it was taken away while no agent ran.
        """
        if node is None:
            await deregister(self.api, name)
            await self.reflected.synced.wait()
        else:
            await node.remove(self.api)
            await self._kubelet.unserve(name)
        left = {uid: pod for uid, pod in self.reflected.known.items() if pod["spec"].get("nodeName") == name}
        for uid in left:
            if uid in self.pods:
                self.pods[uid].gone()
        await asyncio.gather(*(draining.lose(self.api, pod) for pod in left.values()))
        if workers := [self._workers[uid] for uid in left if uid in self._workers]:
            await asyncio.wait(workers)
        if name not in self.nodes:  # another machine by this name may be there by now
            await asyncio.to_thread(shutil.rmtree, self.files.node(name), ignore_errors=True)

    # Pods

    def _told(self, body: Body, gone: bool) -> None:
        uid = body["metadata"]["uid"]
        known = self.pods.get(uid)
        if known is not None:
            if gone:
                known.gone()
            else:
                known.update(body)
            return
        node = self.nodes.get(body["spec"].get("nodeName", ""))
        if not gone and node is not None:
            self._begin(body, node)

    def _begin(self, body: Body, node: Node) -> None:
        uid = body["metadata"]["uid"]
        pod = Pod(body, node, self.api, self._registry, self.events, self.files.pods / uid, self.network)
        self.pods[uid] = pod
        self._workers[uid] = asyncio.create_task(self._work(pod), name=f"{pod.namespace}/{pod.name}")

    async def _work(self, pod: Pod) -> None:
        """An error of our own with one pod isn't a reason to leave the others."""
        try:
            await pod.run()
        except Exception:
            log.exception("pod %s/%s", pod.namespace, pod.name)
            await asyncio.sleep(_AGAIN_SECONDS)
            if pod.uid not in self.reflected.known or pod.node.name not in self.nodes:
                await leftovers.end_pod(pod.folder)
        finally:
            self.pods.pop(pod.uid, None)
            self._workers.pop(pod.uid, None)
        body = self.reflected.known.get(pod.uid)
        if body is not None and pod.node.name in self.nodes:
            self._told(body, False)
