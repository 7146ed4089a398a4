"""A cluster that is deleted while one of its pools is being changed: nothing of it comes back."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from localazure.arm.store import Store
from localazure.kubernetes.pools import ClusterPools
from localazure.lists.deviations import Deviations
from tests.localazure.coroutines import in_a_loop
from tests.localazure.kubernetes.gpu_world import CLUSTER, Taking, eventually, pool


class Emptying(Taking):
    """It answers only when it is let to, once a node is cordoned."""

    def __init__(self) -> None:
        super().__init__()
        self.let = asyncio.Event()

    async def patch(self, path: str, body: Any, **_: str) -> dict[str, Any]:
        answer = await super().patch(path, body)
        await self.let.wait()
        return answer


@in_a_loop
async def test_what_was_under_way_brings_nothing_back(tmp_path: Path) -> None:
    api, folder = Emptying(), tmp_path / "clusters" / "aks"
    clusters = SimpleNamespace(folder=lambda _: folder, exists=lambda _: True, power=lambda _: "Stopped", api=lambda _: api)
    clusters.shape = lambda _: CLUSTER
    store = Store(tmp_path / "azure.sqlite")
    clock = SimpleNamespace(now=lambda: datetime(2026, 11, 22, tzinfo=UTC))
    services = SimpleNamespace(store=store, deviations=Deviations(), clock=clock)
    pools = ClusterPools(services, clusters)
    pools.configure(CLUSTER.key, CLUSTER)
    await pools.apply(CLUSTER.key, pool())
    clusters.power = lambda _: "Running"
    leaving = asyncio.create_task(pools.apply(CLUSTER.key, pool(count=0)))
    await eventually(lambda: api.told, "the node is being emptied")
    await pools.forget(CLUSTER.key)
    (folder / "nodes.json").unlink()
    folder.rmdir()
    api.let.set()
    await leaving
    assert not folder.exists()
    assert store.documents("kubernetes/pools/") == {}
