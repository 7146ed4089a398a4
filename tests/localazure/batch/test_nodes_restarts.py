"""What is lost and what isn't: killed node processes, a server that ends or is killed, and the end of everything."""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from localazure.batch.model import PoolKey, TaskKey
from localazure.batch.nodes import agent as agents, runner
from localazure.batch.nodes.agent import Agent, Command
from localazure.containers import supervision
from tests.localazure.batch.world import ACCOUNT, World, fixed, in_first_world, in_world, is_dead, left_alone, written

pytestmark = pytest.mark.slow

COUNTING = "/bin/sh -c 'echo x >> $COUNT; while [ ! -e $GO ]; do sleep 0.02; done; echo whole output'"


@in_world
async def test_a_task_whose_runner_was_killed_runs_once_more_and_loses_no_output(world: World, tmp_path: Path) -> None:
    pool = await world.pool()
    earlier = world.task(world.job(pool, "earlier"), "task", "echo kept")
    await world.done(earlier)
    task = _counting(world, pool, tmp_path)
    await world.until(lambda: written(tmp_path / "count"), lambda: "it runs")
    os.kill(_runner(world), signal.SIGKILL)
    await world.until(lambda: (tmp_path / "count").read_text() == "x\n" * 2, lambda: "it runs again")
    (tmp_path / "go").touch()
    info = await world.done(task)
    assert (info["exitCode"], info["requeueCount"], info["retryCount"]) == (0, 1, 0)
    assert world.output(task) == "whole output\n"
    assert world.output(earlier) == "kept\n"
    assert (tmp_path / "count").read_text() == "x\n" * 2


@in_world
async def test_the_command_of_a_killed_runner_is_ended_before_its_task_runs_again(world: World, tmp_path: Path) -> None:
    pool = await world.pool()
    job = world.job(pool, commonEnvironmentSettings=[{"name": "PIDS", "value": str(tmp_path / "pids")}])
    command = "/bin/sh -c 'echo $$ >> $PIDS; [ $(wc -l < $PIDS) -gt 1 ] || exec sleep 300'"
    task = world.task(job, "task", command)
    await world.until(lambda: written(tmp_path / "pids"), lambda: "it runs")
    first = int((tmp_path / "pids").read_text())
    os.kill(_runner(world), signal.SIGKILL)
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
    one = _runner(first)
    await left_alone(first)
    second = World(first.state)
    await second.pools.started()
    assert _runner(second) == one
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
    one = _runner(first)
    await left_alone(first)
    os.kill(one, signal.SIGKILL)
    second = World(first.state)
    await second.pools.started()
    (tmp_path / "go").touch()
    info = await second.done(task)
    assert (info["exitCode"], info["requeueCount"]) == (0, 1)
    assert (tmp_path / "count").read_text() == "x\n" * 2
    await left_alone(second)


@in_first_world
async def test_the_end_of_everything_ends_tasks_and_what_a_killed_runner_left(first: World, tmp_path: Path) -> None:
    pool = await first.pool(scaleSettings=fixed(2))
    job = first.job(pool, commonEnvironmentSettings=[{"name": "PIDS", "value": str(tmp_path)}])
    tasks = [first.task(job, str(number), "/bin/sh -c 'echo $$ > $PIDS/$AZ_BATCH_TASK_ID; exec sleep 300'") for number in (1, 2)]
    await first.until(lambda: all((tmp_path / key.task).exists() for key in tasks), lambda: "both run")
    await first.until(lambda: all((tmp_path / key.task).read_text() for key in tasks), lambda: "both have said who they are")
    runners = _runners(first)
    await left_alone(first)
    os.kill(runners[0], signal.SIGKILL)
    await agents.reap(first.state / "batch")
    for pid in [*runners, *(int((tmp_path / key.task).read_text()) for key in tasks)]:
        await first.until(lambda pid=pid: is_dead(pid), lambda pid=pid: f"{pid} ends")


@in_first_world
async def test_nodes_that_were_leaving_go_on_leaving_after_a_restart(first: World, tmp_path: Path) -> None:
    pool = await first.pool(scaleSettings=fixed(2))
    _, leaving = first.pools.nodes(pool)
    job = first.job(pool, commonEnvironmentSettings=[{"name": "GO", "value": str(tmp_path / "go")}])
    affinity = {"affinityId": leaving["affinityId"]}
    task = first.task(job, "task", "/bin/sh -c 'while [ ! -e $GO ]; do sleep 0.02; done'", affinityInfo=affinity)
    await first.until(lambda: first.state_of(task) == "running", lambda: "it runs")
    first.pools.get(pool).resize(0, 0, "taskcompletion", "PT15M")
    await first.until(lambda: first.states(pool) == ["leavingpool"], lambda: "the node waits for its task")
    await left_alone(first)
    second = World(first.state)
    await second.pools.started()
    await second.until(lambda: "leavingpool" in second.states(pool), lambda: "the node still waits for its task")
    (tmp_path / "go").touch()
    info = await second.done(task)
    assert (info["exitCode"], info["requeueCount"]) == (0, 0)
    await second.until(lambda: second.states(pool) == [], lambda: "it has left")
    await left_alone(second)


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
    folders = [node.record["folder"] for node in second.pools._pools[made].nodes]
    assert [each.name for each in (second.state / "batch").iterdir()] == folders
    await left_alone(second)


@in_first_world
async def test_folders_of_nodes_that_nobody_knows_are_removed_with_what_runs_there(first: World, tmp_path: Path) -> None:
    pool = await first.pool()
    _counting(first, pool, tmp_path)
    await first.until(lambda: written(tmp_path / "count"), lambda: "it runs")
    one = _runner(first)
    await left_alone(first)
    second = World(first.state)
    for name in second.store.documents("batch/pools/"):
        second.store.delete_document(name)
    second.store.delete(f"{ACCOUNT}/pools/pool")
    await second.pools.started()
    await second.until(lambda: is_dead(one), lambda: "what ran there ends")
    assert list((first.state / "batch").iterdir()) == []
    await left_alone(second)


@in_world
async def test_a_command_ends_when_its_nodes_folder_is_gone(world: World, tmp_path: Path) -> None:
    pool = await world.pool()
    task = _counting(world, pool, tmp_path)
    await world.until(lambda: written(tmp_path / "count"), lambda: "it runs")
    one = _runner(world)
    (tmp_path / "go").touch()
    for folder in (world.state / "batch").glob("*/runs"):
        shutil.rmtree(folder)
    await world.until(lambda: is_dead(one), lambda: "its runner ends")
    assert (await world.done(task))["exitCode"] == 0


@in_world
async def test_what_a_kept_command_left_behind_is_ended_unless_its_number_is_anothers(world: World, tmp_path: Path) -> None:
    folder, other = tmp_path / "node", subprocess.Popen(["sleep", "300"], start_new_session=True)
    agent = Agent(folder, lambda: None)
    await agent.open()
    for name in ("left", "gone"):
        argv = ["sh", "-c", f"sleep 300 & echo $! > {tmp_path / name}; exec sleep 300"]
        command = Command(argv, {"PATH": "/usr/bin:/bin"}, str(folder), str(folder / "out"), str(folder / "err"), keep=True)
        waiting = asyncio.ensure_future(agent.run(name, command))
        await world.until(lambda name=name: written(tmp_path / name), lambda: "it runs")
        pid = int((tmp_path / name).read_text())
        if name == "left":
            os.kill(os.getpgid(pid), signal.SIGKILL)
        else:
            (folder / "runs" / name / "group").write_text(f"{other.pid} 1")
            agent.end(name)
        assert (await waiting).why == ("" if name == "left" else runner.ASKED)
        agent.forget(name)
        agent.clear(name)
        await world.until(lambda pid=pid: is_dead(pid), lambda: "what it left ends")
    assert list((folder / "runs").iterdir()) == []
    await agent.quit()
    assert other.poll() is None
    other.kill()
    other.wait()


def _counting(world: World, pool: PoolKey, folder: Path) -> TaskKey:
    settings = [{"name": "COUNT", "value": str(folder / "count")}, {"name": "GO", "value": str(folder / "go")}]
    return world.task(world.job(pool, commonEnvironmentSettings=settings), "task", COUNTING)


def _runners(world: World) -> list[int]:
    found = [supervision.holder(folder) for folder in sorted((world.state / "batch").glob("*/runs/*/"))]
    return [pid for pid in found if pid]


def _runner(world: World) -> int:
    (pid,) = _runners(world)
    return pid
