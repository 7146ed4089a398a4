"""What runs until it is cancelled ends even where it is woken at the same moment."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from localazure.kubernetes import node_templates
from localazure.kubernetes.agent.node import Node
from localazure.kubernetes.autoscaler_loop import Autoscaler
from localazure.kubernetes.autoscaler_views import Profile
from localazure.kubernetes.client import KubeApi
from localazure.kubernetes.control_plane_folder import ClusterFolder
from tests.localazure.kubernetes.gpu_world import CLUSTER, Taking, pool
from tests.support.loopback import run

_TURNS = 10  # of the event loop, which are more than either takes to end


async def never(*_: object) -> None:
    """There is no pool to change."""


async def turns(count: int = _TURNS) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def still_running(begin: Callable[[], tuple[asyncio.Task[None], Callable[[], None]]]) -> list[int]:
    """After how many turns of the loop between the two the task outlives its cancelling."""
    alive: list[int] = []
    for between in range(_TURNS):
        task, wake = begin()
        await turns()
        wake()
        await turns(between)
        task.cancel()
        await turns()
        if not task.done():
            alive.append(between)
    return alive


def test_an_autoscaler_that_is_woken_as_it_is_cancelled_ends() -> None:
    def begin() -> tuple[asyncio.Task[None], Callable[[], None]]:
        idle = Taking()
        scaler = Autoscaler(lambda: cast(KubeApi, idle), list, never, never, Profile, lambda: datetime(2026, 11, 22, tzinfo=UTC))
        return asyncio.create_task(scaler.run()), scaler.wake

    assert run(still_running(begin)) == []


def test_a_node_with_a_new_device_as_it_is_taken_away_ends(tmp_path: Path) -> None:
    record = node_templates.record(pool("cpu", "Standard_D4s_v5"), CLUSTER, 0, "2026-11-22T00:00:00Z")

    def begin() -> tuple[asyncio.Task[None], Callable[[], None]]:
        node = Node(record, ClusterFolder(tmp_path), cast(Any, None), set())
        node.start(cast(KubeApi, Taking()), 10250)
        return node._tasks[0], lambda: node.apply(record)

    assert run(still_running(begin)) == []
