"""The autoscaler at work on an API that a test holds in its hands: what it does while a node is emptied, and after a restart."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from localazure.kubernetes import autoscaler_views
from localazure.kubernetes.autoscaler import PoolView
from localazure.kubernetes.autoscaler_loop import TO_BE_DELETED, Autoscaler
from localazure.kubernetes.autoscaler_views import Profile
from localazure.kubernetes.client import Event, KubeApi, KubeError
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
    """An API whose pods no eviction moves, and pools that count what is asked of them."""

    def __init__(self, nodes: list[Body], pods: list[Body]) -> None:
        self.nodes = nodes
        self.pods = pods
        self.evictions: list[str] = []
        self.grown: list[int] = []
        self.gone: list[str] = []

    # As the API server

    async def list(self, path: str) -> Body:
        return {"items": {"/api/v1/nodes": self.nodes, "/api/v1/pods": self.pods, "/apis/apps/v1/daemonsets": []}[path]}

    async def find(self, path: str) -> Body | None:
        return next((one for one in [*self.nodes, *self.pods] if path.endswith(f"/{one['metadata']['name']}")), None)

    async def patch(self, path: str, body: Body) -> None:
        found = await self.find(path)
        assert found is not None
        found["spec"] |= body["spec"]

    async def create(self, path: str, body: Body) -> None:
        if path.endswith("/eviction"):
            self.evictions.append(body["metadata"]["name"])
            raise KubeError(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.")

    async def apply(self, path: str, body: Body, *, field_manager: str) -> None:
        """Its status is told."""

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


def watched(world: World, work: Callable[[], Any], profile: Profile = PROFILE) -> None:
    async def whole() -> None:
        scaler = Autoscaler(lambda: cast(KubeApi, world), world, lambda: profile, lambda: NOW)
        running = asyncio.create_task(scaler.run())
        try:
            await work()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        assert asyncio.all_tasks() == {asyncio.current_task()}, "the autoscaler leaves nothing running"

    run(whole())


def taints(one: Body) -> list[str]:
    return [each["key"] for each in one["spec"]["taints"]]


def test_pods_get_a_node_while_another_node_is_being_emptied() -> None:
    nodes = [node(0), node(1)]
    busy, kept = pod("busy", "3", nodes[0]), pod("kept", "100m", nodes[1])
    world = World(nodes, [busy, kept])

    async def work() -> None:
        await eventually(lambda: "kept" in world.evictions, "the idle node is emptied")
        assert taints(nodes[1]) == [TO_BE_DELETED]
        world.pods.append(pod("waits", "3"))
        await eventually(lambda: world.grown == [1], "the new pod gets its node, though a disruption budget keeps the other")
        assert world.gone == []

    watched(world, work)


def test_nodes_that_an_earlier_autoscaler_was_about_to_remove_take_pods_again() -> None:
    """Otherwise the pod would wait: its pool's only node refuses it, and nothing removes that node before its time."""
    tainted = node(
        0, {"key": "dedicated", "value": "x", "effect": "PreferNoSchedule"}, {"key": TO_BE_DELETED, "effect": "NoSchedule"}
    )
    world = World([tainted], [pod("waits", "1")])

    async def work() -> None:
        await eventually(lambda: taints(tainted) == ["dedicated"], "the taint goes, others stay")
        assert world.grown == []

    watched(world, work, PROFILE._replace(unneeded=timedelta(minutes=10)))
