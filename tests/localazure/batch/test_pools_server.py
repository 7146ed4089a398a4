"""Pools and tasks of a whole embedded Azure: over a killed server, eviction by the fault command, and its end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.localazure.batch.data_plane import Account
from tests.localazure.batch.world import is_dead
from tests.localazure.conftest import GROUPS, new_group
from tests.support.embedded import ServedAzure, until


@pytest.fixture(scope="module")
def server(starts_processes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAzure]:
    """For all tests here; each leaves it without nodes."""
    made = ServedAzure(tmp_path_factory.mktemp("server"))
    yield made
    made.stop()


@pytest.fixture
def account(server: ServedAzure) -> Iterator[Account]:
    group = new_group(server)
    yield Account(server, group)
    assert server.finished(server.delete(group, GROUPS))["status"] == "Succeeded"


def test_a_killed_server_loses_neither_nodes_nor_tasks(server: ServedAzure, account: Account, tmp_path: Path) -> None:
    nodes = account.idle_pool("pool")
    account.add_job("job", "pool")
    go = tmp_path / "go"
    account.add_tasks("job", "task", command=f"/bin/sh -c 'touch {go}.runs; while [ ! -e {go} ]; do sleep 0.05; done; echo hi'")
    until(Path(f"{go}.runs").exists, "it runs")
    (one,) = _runners(server)
    server.kill9()
    server.start()
    account.client = server.http(headers=account.client.headers)
    assert [node["id"] for node in account.get("pools/pool/nodes").json()["value"]] == [node["id"] for node in nodes]
    assert _runners(server) == [one]
    go.touch()
    task = account.completed("job", "task")
    assert (task["executionInfo"]["exitCode"], task["executionInfo"]["requeueCount"]) == (0, 0)
    assert account.get("jobs/job/tasks/task/files/stdout.txt").text == "hi\n"


def test_nothing_outlives_the_embedded_azure_and_the_next_brings_the_nodes_back(
    server: ServedAzure, account: Account, tmp_path: Path
) -> None:
    nodes = account.idle_pool("pool", 2)
    account.add_job("job", "pool")
    pid = tmp_path / "pid"
    account.add_tasks("job", "task", command=f"/bin/sh -c 'test -e {pid} && exit 0; echo $$ > {pid}; exec sleep 300'")
    until(lambda: pid.exists() and pid.read_text(), "it runs")
    (one,) = _runners(server)
    server.stop()
    for each in (one, int(pid.read_text())):
        until(lambda each=each: is_dead(each), f"{each} ends")
    server.start()
    account.client = server.http(headers=account.client.headers)
    task = account.completed("job", "task")
    assert (task["executionInfo"]["exitCode"], task["executionInfo"]["requeueCount"]) == (0, 1)
    assert {node["id"] for node in account.get("pools/pool/nodes").json()["value"]} == {node["id"] for node in nodes}


def test_the_fault_command_takes_spot_nodes_away(server: ServedAzure, account: Account) -> None:
    account.add_pool("spot", 0, targetLowPriorityNodes=1)
    (node,) = until(
        lambda: [one for one in account.get("pools/spot/nodes").json()["value"] if one["state"] == "idle"], "an idle node"
    )
    done = server.command("fault", "evict", f"spot/{node['id']}")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"evict, name spot/{node['id']}\n".replace("evict", "kind evict")
    until(lambda: account.get("pools/spot/nodes").json()["value"][0]["state"] != "idle", "the node is gone")
    assert server.command("fault", "list").stdout == "no faults\n"  # it happened, and holds no more
    refused = server.command("fault", "evict", "nothing")
    assert refused.returncode == 1
    assert "no Spot node of a Batch pool is called 'nothing'" in refused.stderr


def _runners(azure: ServedAzure) -> list[int]:
    return sorted(int(lock.read_text()) for lock in (azure.state / "batch").glob("*/runs/*/lock"))
