"""The autoscaler at work on an API that a test holds in its hands: a node that goes and one that comes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from localazure.kubernetes import autoscaler_views
from localazure.kubernetes.autoscaler import PoolView
from localazure.kubernetes.autoscaler_loop import Autoscaler
from localazure.kubernetes.autoscaler_views import Profile
from localazure.kubernetes.client import Event, KubeApi
from localazure.kubernetes.node_templates import record, scale_set, template
from tests.localazure.kubernetes.gpu_world import CLUSTER, eventually, pool
from tests.support.loopback import run

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
SHAPE = pool("cpu", "Standard_D4s_v5")
PROFILE = Profile(unneeded=timedelta(0), delay_after_add=timedelta(0), scan=timedelta(milliseconds=20))
Body = dict[str, Any]
Pools = list[PoolView]


def node(number: int, *taints: Body) -> Body:
    one = record(SHAPE, CLUSTER, number, "2026-11-22T00:00:00Z")
    ready = {"type": "Ready", "status": "True"}
    return {
        "metadata": {"name": one["name"], "labels": one["labels"], "creationTimestamp": one["created"]},
        "spec": {"taints": list(taints)},
        "status": {"allocatable": one["allocatable"], "conditions": [ready]},
    }


def pod(name: str, cpu: str, on: Body | None = None) -> Body:
    waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": "2026-11-22T11:59:00Z"}
    owner = {"kind": "ReplicaSet", "uid": "r", "controller": True}
    return {
        "metadata": {"uid": name, "name": name, "namespace": "default", "ownerReferences": [owner]},
        "spec": {
            "nodeName": on["metadata"]["name"] if on else "",
            "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}],
        },
        "status": {"conditions": [] if on else [waits]},
    }


class World:
    """An API, and pools that count what is asked of them."""

    def __init__(self, nodes: list[Body], pods: list[Body]) -> None:
        self.nodes = nodes
        self.pods = pods
        self.grown: list[int] = []
        self.gone: list[str] = []

    # As the API server

    async def list(self, path: str) -> Body:
        return {"items": {"/api/v1/nodes": self.nodes, "/api/v1/pods": self.pods, "/apis/apps/v1/daemonsets": []}[path]}

    async def create(self, path: str, body: Body) -> None:
        """Its events are told."""

    async def follow(self, path: str, *, fields: str) -> AsyncIterator[Event]:
        yield Event("SYNCED", {"items": []})
        await asyncio.Event().wait()

    # As the pools

    def views(self) -> Pools:
        view = autoscaler_views.of_template(template(SHAPE, CLUSTER))
        return [PoolView("cpu", scale_set(CLUSTER.key, SHAPE), 0, 9, len(self.nodes), view)]

    async def grow(self, pool: str, nodes: int) -> None:
        self.grown.append(nodes)
        number = len(self.nodes)
        self.nodes += [node(number + each) for each in range(nodes)]

    async def shrink(self, pool: str, nodes: Sequence[str]) -> None:
        self.gone += nodes
        self.nodes = [one for one in self.nodes if one["metadata"]["name"] not in nodes]


def watched(world: World, work: Callable[[], Any], profile: Profile = PROFILE) -> None:
    async def whole() -> None:
        scaler = Autoscaler(lambda: cast(KubeApi, world), world.views, world.grow, world.shrink, lambda: profile, lambda: NOW)
        running = asyncio.create_task(scaler.run())
        try:
            await work()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        assert asyncio.all_tasks() == {asyncio.current_task()}, "the autoscaler leaves nothing running"

    run(whole())


def test_an_empty_node_goes_and_a_pod_that_waits_gets_one() -> None:
    nodes = [node(0), node(1)]
    world = World(nodes, [pod("busy", "3", nodes[0])])

    async def work() -> None:
        await eventually(lambda: world.gone, "the idle node goes")
        assert set(world.gone) == {nodes[1]["metadata"]["name"]}
        world.pods.append(pod("waits", "3"))
        await eventually(lambda: world.grown, "the pod for which there is no room gets a node")

    watched(world, work)


def test_a_node_on_which_a_pod_is_placed_while_it_is_judged_stays() -> None:
    nodes = [node(0)]

    class Placing(World):
        """Its scheduler places a pod right after each list of pods in which the node is empty."""

        async def list(self, path: str) -> Body:
            told = await super().list(path)
            if path == "/api/v1/pods":
                self.pods = [pod("placed", "3", nodes[0])]
            return told

    world = Placing(nodes, [])

    async def work() -> None:
        for _ in range(50):
            await asyncio.sleep(0)
        assert world.gone == []

    watched(world, work)
