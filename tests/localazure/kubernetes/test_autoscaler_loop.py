"""The autoscaler at work on an API that a test holds in its hands: a node that goes, or stays with a pod that comes meanwhile."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from localazure.kubernetes import autoscaler_views
from localazure.kubernetes.autoscaler import PoolView
from localazure.kubernetes.autoscaler_loop import Autoscaler
from localazure.kubernetes.client import KubeApi
from localazure.kubernetes.node_templates import record, scale_set, template
from tests.localazure.coroutines import in_a_loop
from tests.localazure.kubernetes.gpu_world import CLUSTER, Taking, pool

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
SHAPE = pool("cpu", "Standard_D4s_v5")
NODE = record(SHAPE, CLUSTER, 0, "2026-11-22T00:00:00Z")
Pools = list[PoolView]
PROFILE = autoscaler_views.profile(
    {"scale-down-unneeded-time": "0s", "scale-down-delay-after-add": "0s", "scan-interval": "0.02s"}
)
PLACED = {"metadata": {"uid": "u", "name": "p", "namespace": "n"}, "spec": {"nodeName": NODE["name"]}}


class Scheduler(Taking):
    """It `places` a pod on the one node right after the first list of pods, in which the node is empty."""

    def __init__(self, places: bool) -> None:
        super().__init__()
        self.places = places
        self.pods: list[dict[str, Any]] = []
        self.gone: list[str] = []

    async def list(self, path: str, **_: str) -> dict[str, Any]:
        status = {"allocatable": NODE["allocatable"], "conditions": [{"type": "Ready", "status": "True"}]}
        node = {"metadata": {"name": NODE["name"], "labels": NODE["labels"]}, "status": status}
        found = {"/api/v1/nodes": [] if self.gone else [node], "/api/v1/pods": self.pods}.get(path, [])
        if path == "/api/v1/pods" and self.places:
            self.pods = [PLACED]
        return {"items": found}

    def views(self) -> Pools:
        view = autoscaler_views.of_template(template(SHAPE, CLUSTER))
        return [PoolView("cpu", scale_set(CLUSTER.key, SHAPE), 0, 9, 1 - len(self.gone), view)]

    async def grow(self, pool: str, nodes: int) -> None:
        raise AssertionError("nothing waits for a node")

    async def shrink(self, pool: str, nodes: Sequence[str]) -> None:
        self.gone += nodes


@pytest.mark.parametrize("places", [False, True], ids=["stays empty", "gets a pod"])
@in_a_loop
async def test_an_empty_node_goes_but_for_one_on_which_a_pod_is_placed_while_it_is_judged(places: bool) -> None:
    api = Scheduler(places)
    scaler = Autoscaler(lambda: cast(KubeApi, api), api.views, api.grow, api.shrink, lambda: PROFILE, lambda: NOW)
    running = asyncio.create_task(scaler.run())
    for _ in range(50):
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert api.gone == ([] if places else [NODE["name"]])
    assert asyncio.all_tasks() == {asyncio.current_task()}, "the autoscaler leaves nothing running"
