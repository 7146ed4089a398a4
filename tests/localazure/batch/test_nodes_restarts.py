"""What is lost and what isn't: killed node processes, a server that ends or is killed, and the end of everything."""

import asyncio
import json
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from localazure.batch.model import PoolKey, TaskKey
from localazure.batch.nodes import connection, node_agent, node_journal
from localazure.batch.nodes.connection import Command, Connection
from localazure.containers import shim_processes, supervision
from tests.localazure.batch.world import ACCOUNT, World, fixed, in_first_world, in_world, is_dead, left_alone, run, written

pytestmark = pytest.mark.slow

COUNTING = "/bin/sh -c 'echo x >> $COUNT; while [ ! -e $GO ]; do sleep 0.02; done; echo whole output'"


@in_world
async def test_a_killed_node_process_reruns_its_task_once_and_loses_no_output(world: World, tmp_path: Path) -> None:
    pool = await world.pool()
    task = _counting(world, pool, tmp_path)
    earlier = world.task(world.job(pool, "earlier"), "task", "echo kept", requiredSlots=1)
    await world.until(lambda: written(tmp_path / "count"), lambda: "it runs")
    os.kill(_agent(world, pool), signal.SIGKILL)
    await world.until(lambda: (tmp_path / "count").read_text() == "x\n" * 2, lambda: "it runs again")
    (tmp_path / "go").touch()
    info = await world.done(task)
    assert (info["exitCode"], info["requeueCount"], info["retryCount"]) == (0, 1, 0)
    assert world.output(task) == "whole output\n"
    await world.done(earlier)
    assert world.output(earlier) == "kept\n"
    assert (tmp_path / "count").read_text() == "x\n" * 2


@in_world
async def test_the_processes_of_a_killed_node_are_ended_before_its_task_runs_again(world: World, tmp_path: Path) -> None:
    pool = await world.pool()
    job = world.job(pool, commonEnvironmentSettings=[{"name": "PIDS", "value": str(tmp_path / "pids")}])
    command = "/bin/sh -c 'echo $$ >> $PIDS; [ $(wc -l < $PIDS) -gt 1 ] || exec sleep 300'"
    task = world.task(job, "task", command)
    await world.until(lambda: written(tmp_path / "pids"), lambda: "it runs")
    first = int((tmp_path / "pids").read_text())
    os.kill(_agent(world, pool), signal.SIGKILL)
    await world.done(task)
    await world.until(lambda: is_dead(first), lambda: "the lost process ends")


@in_world
async def test_a_state_of_a_node_that_was_told_is_on_disk_already(world: World, tmp_path: Path) -> None:
    pool = await world.pool()
    await world.pools.reboot(pool, world.pools.nodes(pool)[0]["id"])
    told = [node["state"] for node in world.pools.nodes(pool)]
    assert told == ["rebooting"]
    with closing(sqlite3.connect(tmp_path / "state" / "azure.sqlite")) as disk:
        (kept,) = disk.execute("SELECT content FROM documents WHERE content LIKE '%rebooting%'")
    assert [node["phase"] for node in json.loads(kept[0])["nodes"]] == told
    await world.all_in(pool, "idle")


@in_first_world
async def test_a_task_goes_on_while_the_server_is_replaced(first: World, tmp_path: Path) -> None:
    pool = await first.pool()
    task = _counting(first, pool, tmp_path)
    await first.until(lambda: written(tmp_path / "count"), lambda: "it runs")
    agent = _agent(first, pool)
    await left_alone(first)
    second = World(first.state)
    await second.pools.started()
    assert _agent(second, pool) == agent
    assert second.states(pool) == ["running"]
    (tmp_path / "go").touch()
    info = await second.done(task)
    assert (info["exitCode"], info["requeueCount"]) == (0, 0)
    assert second.output(task) == "whole output\n"
    assert (tmp_path / "count").read_text() == "x\n"
    await left_alone(second)


@in_first_world
async def test_what_runs_beside_a_primary_that_outlived_its_server_ends_with_it(first: World, tmp_path: Path) -> None:
    pool = await first.pool(scaleSettings=fixed(2), interNodeCommunication="Enabled")
    variables = {"COUNT": tmp_path / "count", "GO": tmp_path / "go", "PIDS": tmp_path / "pids"}
    settings = {
        "numberOfInstances": 2,
        "coordinationCommandLine": "/bin/sh -c 'sleep 300 & echo $! >> $PIDS'",
    }
    task = first.task(
        first.job(pool),
        "task",
        COUNTING,
        multiInstanceSettings=settings,
        environmentSettings=[{"name": name, "value": str(value)} for name, value in variables.items()],
    )
    await first.until(lambda: written(tmp_path / "count"), lambda: "it runs")
    pids = [int(each) for each in (tmp_path / "pids").read_text().split()]
    await left_alone(first)
    second = World(first.state)
    await second.pools.started()
    assert [is_dead(pid) for pid in pids] == [False, False], "they go on without a server"
    (tmp_path / "go").touch()
    assert (await second.done(task))["exitCode"] == 0
    for pid in pids:
        await second.until(lambda pid=pid: is_dead(pid), lambda pid=pid: f"{pid} ends")
    assert second.states(pool) == ["idle", "idle"]
    await left_alone(second)


@in_first_world
async def test_a_task_that_ended_without_a_server_is_told_to_the_next(first: World, tmp_path: Path) -> None:
    pool = await first.pool()
    task = _counting(first, pool, tmp_path)
    await first.until(lambda: written(tmp_path / "count"), lambda: "it runs")
    folder = first.folder(task)
    await left_alone(first)
    (tmp_path / "go").touch()
    await first.until(lambda: "whole" in (folder / "stdout.txt").read_text(), lambda: "it has ended")
    second = World(first.state)
    await second.pools.started()
    info = await second.done(task)
    assert (info["exitCode"], info["requeueCount"]) == (0, 0)
    assert (tmp_path / "count").read_text() == "x\n"
    assert second.states(pool) == ["idle"]
    await left_alone(second)


@in_first_world
async def test_a_node_that_died_with_the_server_comes_up_again_and_runs_its_task_again(first: World, tmp_path: Path) -> None:
    pool = await first.pool()
    task = _counting(first, pool, tmp_path)
    await first.until(lambda: written(tmp_path / "count"), lambda: "it runs")
    agent = _agent(first, pool)
    await left_alone(first)
    os.kill(agent, signal.SIGKILL)
    second = World(first.state)
    await second.pools.started()
    (tmp_path / "go").touch()
    info = await second.done(task)
    assert (info["exitCode"], info["requeueCount"]) == (0, 1)
    assert (tmp_path / "count").read_text() == "x\n" * 2
    await left_alone(second)


@in_first_world
async def test_the_end_of_everything_ends_nodes_and_tasks_and_what_a_killed_node_left(first: World, tmp_path: Path) -> None:
    pool = await first.pool(scaleSettings=fixed(2))
    job = first.job(pool, commonEnvironmentSettings=[{"name": "PIDS", "value": str(tmp_path)}])
    tasks = [first.task(job, str(number), "/bin/sh -c 'echo $$ > $PIDS/$AZ_BATCH_TASK_ID; exec sleep 300'") for number in (1, 2)]
    await first.until(lambda: all((tmp_path / key.task).exists() for key in tasks), lambda: "both run")
    await first.until(lambda: all((tmp_path / key.task).read_text() for key in tasks), lambda: "both have said who they are")
    agents = _agents(first, pool)
    await left_alone(first)
    os.kill(agents[0], signal.SIGKILL)
    await connection.reap(first.state / "batch")
    for pid in [*agents, *(int((tmp_path / key.task).read_text()) for key in tasks)]:
        await first.until(lambda pid=pid: is_dead(pid), lambda pid=pid: f"{pid} ends")


@in_first_world
async def test_pools_that_only_one_side_knows_after_a_kill_are_put_right(first: World) -> None:
    await first.pool("made")
    await first.pool("gone")
    await left_alone(first)
    second = World(first.state)
    second.store.delete_document(f"batch/pools/{ACCOUNT}/made")
    second.store.delete(f"{ACCOUNT}/pools/gone")
    await second.pools.started()
    made = PoolKey(ACCOUNT, "made")
    await second.all_in(made, "idle")
    assert len(second.states(made)) == 1
    assert second.pools.status(PoolKey(ACCOUNT, "gone")) == {}
    assert len(_agents(second, made)) == 1
    await left_alone(second)


@in_first_world
async def test_folders_of_nodes_that_nobody_knows_are_removed(first: World) -> None:
    pool = await first.pool()
    agent = _agent(first, pool)
    await left_alone(first)
    second = World(first.state)
    for name in second.store.documents("batch/pools/"):
        second.store.delete_document(name)
    second.store.delete(f"{ACCOUNT}/pools/pool")
    await second.pools.started()
    await second.until(lambda: is_dead(agent), lambda: "the node ends")
    assert list((first.state / "batch").iterdir()) == []
    await left_alone(second)


@in_world
async def test_an_agent_ends_when_its_folder_is_gone(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "node"
    (folder / "root").mkdir(parents=True)
    lost: list[bool] = []
    agent = Connection(folder, lambda: lost.append(True))
    await agent.open()
    (folder / "lock").unlink()
    await world.until(lambda: lost, lambda: "the agent ends")


def test_the_journal_of_an_agent_names_what_runs_and_is_shortened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(node_agent.__file__).read_text().replace('"../../.."', repr(str(Path(node_agent.__file__).parents[3])))
    (tmp_path / "agent.py").write_text(
        source.replace("def main(folder):", "node_journal.MOST_BYTES = 200\n\n\ndef main(folder):")
    )
    monkeypatch.setattr(node_agent, "__file__", str(tmp_path / "agent.py"))

    async def test(world: World) -> None:
        folder = tmp_path / ("long" * 30)  # longer than a socket's address may be
        (folder / "root").mkdir(parents=True)
        agent = Connection(folder, lambda: None)
        await agent.open()
        short = Command(["true"], {"PATH": "/usr/bin:/bin"}, str(folder), str(folder / "out"), str(folder / "err"))
        waiting = asyncio.ensure_future(agent.run("long", short._replace(argv=["sleep", "300"])))
        for number in range(50):
            ended = await agent.run(str(number), short)
            agent.forget(str(number))
            assert (ended.code, ended.why) == (0, "")
        ((pid, started),) = node_journal.left(folder / "journal")
        assert shim_processes.start_time(pid) == started
        assert (folder / "journal").stat().st_size < 1000
        agent.end("long")
        assert (await waiting).why == node_agent.ASKED
        assert supervision.holder(folder) == agent.pid
        await agent.quit()
        assert supervision.holder(folder) is None

    run(tmp_path / "state", test)


def _counting(world: World, pool: PoolKey, folder: Path) -> TaskKey:
    settings = [{"name": "COUNT", "value": str(folder / "count")}, {"name": "GO", "value": str(folder / "go")}]
    return world.task(world.job(pool, commonEnvironmentSettings=settings), "task", COUNTING)


def _agents(world: World, pool: object) -> list[int]:
    found = [supervision.holder(folder) for folder in sorted((world.state / "batch").glob("*/"))]
    assert all(found), found
    return [pid for pid in found if pid]


def _agent(world: World, pool: object) -> int:
    (pid,) = _agents(world, pool)
    return pid
