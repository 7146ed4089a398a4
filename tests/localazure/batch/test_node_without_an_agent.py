"""A node's slots, and the retries of its start task, with the ends of commands as a test gives them."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localazure.batch import pool_settings
from localazure.batch.nodes import runner, service_tasks
from localazure.batch.nodes.agent import Ended
from localazure.batch.nodes.node import READY, Node, NodeContext

BEGAN, ENDED = "2026-11-21T10:00:00.000000Z", "2026-11-21T10:00:01.000000Z"
MACHINE = {
    "imageReference": {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204"},
    "nodeAgentSkuId": "batch.node.ubuntu 22.04",
}


class Agent:
    """Runs nothing: commands end one after another with these codes."""

    def __init__(self, *ends: tuple[int | None, str]) -> None:
        self.ends = list(ends)

    async def run(self, run: str, command: Any) -> Ended:
        assert run.startswith("start/")
        assert command.argv == ["setup"]
        code, why = self.ends.pop(0)
        return Ended(BEGAN, ENDED, code, why, "")

    def forget(self, run: str) -> None:
        assert run.startswith("start/")


def node(folder: Path, **properties: Any) -> Node:
    async def unasked(_: Node) -> Any:
        raise AssertionError

    body = {"vmSize": "STANDARD_NC4AS_T4_V3", "deploymentConfiguration": {"virtualMachineConfiguration": MACHINE}, **properties}
    settings = pool_settings.PoolSettings("pool", "westeurope", {"properties": body})
    record = {
        "id": "tvm-1", "folder": "n1", "dedicated": True, "phase": READY, "since": BEGAN,
        "address": "10.0.0.4",
    }  # fmt: skip
    services: Any = SimpleNamespace(clock=SimpleNamespace(stamp=lambda: ENDED), settings=SimpleNamespace(url="https://here"))
    nobody: Any = None
    context = NodeContext("acct", folder, services, nobody, lambda _: None, lambda _: None, unasked, unasked)
    return Node(record, settings, context)


def test_a_node_has_as_many_slots_as_its_pool_says_less_those_of_its_tasks(tmp_path: Path) -> None:
    one = node(tmp_path, taskSlotsPerNode=4)
    assert (one.free_slots, one.state) == (4, "idle")
    one.take("a", 2)
    one.take("b", 1)
    assert (one.free_slots, one.state, one.record["since"]) == (1, "running", ENDED)
    one.release("a")
    one.release("a")  # it has gone
    assert (one.free_slots, one.state) == (3, "running")
    one.release("b")
    assert (one.free_slots, one.state) == (4, "idle")


NOT_FOUND = (None, runner.NOT_FOUND)


@pytest.mark.parametrize(
    ("ends", "retries", "result", "count"),
    [
        ([(0, "")], 2, "success", 0),
        ([(1, ""), (0, "")], 2, "success", 1),
        ([(1, ""), (2, ""), (3, "")], 2, "failure", 2),
        ([(1, ""), (1, ""), (1, ""), (0, "")], -1, "success", 3),
        ([(1, runner.TIMEOUT)], 2, "failure", 0),  # what was ended isn't tried again
        ([NOT_FOUND], 2, "failure", 0),
    ],
)
def test_a_start_task_runs_again_while_it_fails_by_itself_and_has_retries(
    tmp_path: Path, ends: list[tuple[int | None, str]], retries: int, result: str, count: int
) -> None:
    one = node(tmp_path, startTask={"commandLine": "setup", "maxTaskRetryCount": retries})
    agent: Any = Agent(*ends)
    one.agent = agent
    assert asyncio.run(service_tasks.start(one)) == (result == "success")
    told = one.record["start"]
    assert (told["result"], told["retryCount"], told["state"], agent.ends) == (result, count, "completed", [])
    assert told.get("exitCode") == ends[-1][0]
