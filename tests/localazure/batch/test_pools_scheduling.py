"""Which task runs where: slots, pack and spread, affinity, jobs' preparation and release, multi-instance tasks."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from localazure.batch.model import PoolKey, TaskKey
from tests.localazure.batch.world import ACCOUNT, World, fixed, in_world, is_dead, written

pytestmark = pytest.mark.slow

WAITING = "/bin/sh -c 'while [ ! -e $GO ]; do sleep 0.02; done'"


@in_world
async def test_a_node_runs_as_many_tasks_as_it_has_slots(world: World, tmp_path: Path) -> None:
    pool = await world.pool(taskSlotsPerNode=3)
    job = _job(world, pool, tmp_path)
    big = world.task(job, "a", WAITING, requiredSlots=2)
    tasks = [big, *(world.task(job, str(number), WAITING) for number in range(3))]
    await world.until(lambda: _running(world, tasks) == 2, lambda: "two run")
    (node,) = world.pools.nodes(pool)
    assert (node["runningTasksCount"], node["runningTaskSlotsCount"]) == (2, 3)
    (tmp_path / "go").touch()
    for task in tasks:
        assert (await world.done(task))["exitCode"] == 0


@in_world
async def test_spread_gives_each_node_its_share_and_pack_fills_one_first(world: World, tmp_path: Path) -> None:
    for name, policy, expected in (("spread", "Spread", [2, 2]), ("pack", "Pack", [4])):
        settings: dict[str, Any] = {"scaleSettings": fixed(2), "taskSlotsPerNode": 4}
        pool = await world.pool(name, taskSchedulingPolicy={"nodeFillType": policy}, **settings)
        job = _job(world, pool, tmp_path, name)
        tasks = [world.task(job, str(number), WAITING) for number in range(4)]
        await world.until(lambda tasks=tasks: _running(world, tasks) == 4, lambda: "all run")
        nodes = Counter(node.node_id for task in tasks if (node := world.work.node_of(task)))
        assert sorted(nodes.values()) == expected, name


@in_world
async def test_a_task_goes_to_the_node_that_it_has_an_affinity_to(world: World) -> None:
    pool = await world.pool(scaleSettings=fixed(3))
    wanted = world.pools.nodes(pool)[2]
    affinity = {"affinityId": wanted["affinityId"]}
    task = world.task(world.job(pool), "task", "true", affinityInfo=affinity)
    await world.done(task)
    node = world.work.node_of(task)
    assert node is not None
    assert node.node_id == wanted["id"]


@in_world
async def test_a_jobs_preparation_runs_once_on_each_node_before_its_tasks_and_its_release_at_its_end(
    world: World, tmp_path: Path
) -> None:
    pool = await world.pool(scaleSettings=fixed(2), taskSlotsPerNode=2)
    log = "/bin/sh -c 'echo {} $AZ_BATCH_NODE_ID >> $LOG'"
    job = world.job(
        pool,
        commonEnvironmentSettings=[{"name": "LOG", "value": str(tmp_path / "log")}],
        jobPreparationTask={"id": "prepare", "commandLine": log.format("prepare") + " ", "waitForSuccess": True},
        jobReleaseTask={"commandLine": log.format("release")},
    )
    command = "/bin/sh -c 'sleep 0.1; ls -d $AZ_BATCH_JOB_PREP_WORKING_DIR; echo task $AZ_BATCH_NODE_ID >> $LOG'"
    tasks = [world.task(job, str(number), command) for number in range(6)]
    for task in tasks:
        assert (await world.done(task))["exitCode"] == 0
        assert world.output(task).strip().endswith("workitems/job/job-1/prepare/wd")
    await world.pools.end_job(ACCOUNT, "job")
    await world.pools.end_job(ACCOUNT, "JOB")  # once is enough
    lines = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    nodes = {node["id"] for node in world.pools.nodes(pool)}
    for kind in ("prepare", "release"):
        assert sorted(node for what, node in lines if what == kind) == sorted(nodes)
    for node in nodes:
        assert next(what for what, where in lines if where == node) == "prepare"
    told = world.pools.preparations(ACCOUNT, "job")
    assert {one["nodeId"] for one in told} == nodes
    for one in told:
        assert one["jobPreparationTaskExecutionInfo"]["exitCode"] == 0
        assert one["jobPreparationTaskExecutionInfo"]["taskRootDirectory"] == "workitems/job/job-1/prepare"
        assert one["jobReleaseTaskExecutionInfo"]["result"] == "success"
    await world.pools.forget_job(ACCOUNT, "job")
    assert world.pools.preparations(ACCOUNT, "job") == []
    assert not list((tmp_path / "state" / "batch").glob("*/root/workitems/*"))


@in_world
async def test_a_task_that_is_ended_while_its_job_is_prepared_ends_at_once(world: World, tmp_path: Path) -> None:
    pool = await world.pool()
    prepare = {"commandLine": "/bin/sh -c 'touch $GO.prepares; while [ ! -e $GO ]; do sleep 0.02; done'"}
    job = world.job(pool, jobPreparationTask=prepare, commonEnvironmentSettings=[{"name": "GO", "value": str(tmp_path / "go")}])
    first, second = world.task(job, "a", "echo ran"), world.task(job, "b", "echo ran")
    await world.until((tmp_path / "go.prepares").exists, lambda: "the job is prepared")
    await world.pools.end_task(first)
    assert (await world.done(first))["failureInfo"]["code"] == "TaskEnded"
    (tmp_path / "go").touch()
    assert (await world.done(second))["exitCode"] == 0
    assert world.output(second) == "ran\n"


@in_world
async def test_a_failed_preparation_keeps_the_jobs_tasks_from_the_node_and_no_others(world: World) -> None:
    pool = await world.pool()
    prepare = {"commandLine": "/bin/sh -c 'exit 5'", "constraints": {"maxTaskRetryCount": 1}, "waitForSuccess": True}
    bad = world.task(world.job(pool, "bad", jobPreparationTask=prepare), "task", "true")
    good = world.task(world.job(pool, "good"), "task", "true")
    await world.done(good)
    await world.until(
        lambda: (
            world.pools.preparations(ACCOUNT, "bad")
            and world.pools.preparations(ACCOUNT, "bad")[0]["jobPreparationTaskExecutionInfo"]["state"] == "completed"
        ),
        lambda: "the preparation has ended",
    )
    await world.until(lambda: world.state_of(bad) == "active", lambda: "the task waits again")
    (told,) = world.pools.preparations(ACCOUNT, "bad")
    info = told["jobPreparationTaskExecutionInfo"]
    assert (info["exitCode"], info["retryCount"], info["result"]) == (5, 1, "failure")
    assert world.states(pool) == ["idle"]


@in_world
async def test_a_multi_instance_task_coordinates_on_each_node_and_runs_on_the_first(world: World, tmp_path: Path) -> None:
    (world.container("data") / "common.txt").write_text("common")
    pool = await world.pool(scaleSettings=fixed(3), interNodeCommunication="Enabled")
    job = world.job(pool, commonEnvironmentSettings=[{"name": "LOG", "value": str(tmp_path / "log")}])
    coordination = (
        "/bin/sh -c 'echo $AZ_BATCH_NODE_ID $AZ_BATCH_IS_CURRENT_NODE_MASTER $AZ_BATCH_HOST_LIST $AZ_BATCH_NODE_LIST "
        "$AZ_BATCH_MASTER_NODE >> $LOG; echo $CCP_NODES >> $LOG.ccp; sleep 300 & echo $! >> $LOG.pids'"
    )
    task = world.task(
        job,
        "task",
        "/bin/sh -c 'echo $AZ_BATCH_NODE_ID; cat $AZ_BATCH_TASK_SHARED_DIR/common.txt; xargs kill -0 < $LOG.pids'",
        multiInstanceSettings={
            "numberOfInstances": 2,
            "coordinationCommandLine": coordination,
            "commonResourceFiles": [{"httpUrl": "folder:data/common.txt", "filePath": "common.txt"}],
        },
    )
    info = await world.done(task)
    assert info["exitCode"] == 0
    primary = world.work.node_of(task)
    assert primary is not None
    assert world.output(task) == f"{primary.node_id}\ncommon"
    lines = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    assert len(lines) == 2
    addresses = {node["id"]: node["ipAddress"] for node in world.pools.nodes(pool)}
    master = addresses[primary.node_id]
    (other,) = {addresses[line[0]] for line in lines} - {master}
    for node, is_master, hosts, nodes, where in lines:
        assert is_master == str(node == primary.node_id).lower()
        assert hosts == f"{master},{other}"
        assert nodes == f"{master};{other}"
        assert where == f"{master}:6000"
    assert set((tmp_path / "log.ccp").read_text().splitlines()) == {f"2 {master} 4 {other} 4"}
    for pid in (tmp_path / "log.pids").read_text().split():  # coordination's own processes end with the task
        await world.until(lambda pid=pid: is_dead(int(pid)), lambda pid=pid: f"{pid} ends")
    subtasks = world.pools.subtasks(task)
    assert [(one["id"], one["state"], one["exitCode"]) for one in subtasks] == [(0, "completed", 0), (1, "completed", 0)]
    assert world.states(pool) == ["idle"] * 3


@in_world
async def test_a_coordination_command_that_fails_fails_the_task(world: World) -> None:
    pool = await world.pool(scaleSettings=fixed(2), interNodeCommunication="Enabled")
    settings = {
        "numberOfInstances": 2,
        "coordinationCommandLine": "/bin/sh -c '$AZ_BATCH_IS_CURRENT_NODE_MASTER && exec sleep 300; exit 9'",
    }
    task = world.task(world.job(pool), "task", "echo never", multiInstanceSettings=settings)
    info = await world.done(task)
    assert info["exitCode"] == 9
    assert world.output(task) == ""
    assert world.states(pool) == ["idle"] * 2


@in_world
async def test_a_multi_instance_task_stays_active_where_nodes_do_not_reach_each_other(world: World) -> None:
    pool = await world.pool(scaleSettings=fixed(2))
    settings = {"numberOfInstances": 2, "coordinationCommandLine": "true"}
    job = world.job(pool)
    task = world.task(job, "a", "true", multiInstanceSettings=settings)
    await world.done(world.task(job, "b", "true"))
    assert world.state_of(task) == "active"


@in_world
async def test_a_multi_instance_task_gets_its_nodes_before_later_tasks_take_them(world: World, tmp_path: Path) -> None:
    pool = await world.pool(scaleSettings=fixed(2), interNodeCommunication="Enabled")
    job = _job(world, pool, tmp_path)
    first = world.task(job, "a", WAITING)
    await world.until(lambda: world.state_of(first) == "running", lambda: "the first runs")
    settings = {"numberOfInstances": 2, "coordinationCommandLine": "true"}
    both = world.task(job, "b", "/bin/sh -c 'test ! -e $GO.later'", multiInstanceSettings=settings)
    later = world.task(job, "c", "/bin/sh -c 'touch $GO.later'")
    assert world.state_of(later) == "active"
    (tmp_path / "go").touch()
    assert (await world.done(both))["exitCode"] == 0
    assert (await world.done(later))["exitCode"] == 0


@in_world
async def test_a_lost_node_of_a_multi_instance_task_makes_all_of_it_run_again(world: World, tmp_path: Path) -> None:
    pool = await world.pool(scaleSettings=fixed(2), interNodeCommunication="Enabled")
    job = _job(world, pool, tmp_path)
    settings = {"numberOfInstances": 2, "coordinationCommandLine": "true"}
    task = world.task(
        job, "a", "/bin/sh -c 'echo x >> $GO.runs; while [ ! -e $GO ]; do sleep 0.02; done'", multiInstanceSettings=settings
    )
    await world.until(lambda: written(tmp_path / "go.runs"), lambda: "it runs")
    primary = world.work.node_of(task)
    assert primary is not None
    other = next(node for node in world.pools.nodes(pool) if node["id"] != primary.node_id)
    await world.pools.reboot(pool, other["id"], "requeue")
    await world.until(lambda: (tmp_path / "go.runs").read_text() == "x\n" * 2, lambda: "it runs again")
    (tmp_path / "go").touch()
    info = await world.done(task)
    assert (info["exitCode"], info["requeueCount"]) == (0, 1)


@in_world
async def test_a_multi_instance_task_that_is_terminated_leaves_nothing_on_any_of_its_nodes(world: World, tmp_path: Path) -> None:
    pool = await world.pool(scaleSettings=fixed(2), interNodeCommunication="Enabled")
    job = _job(world, pool, tmp_path)
    settings = {"numberOfInstances": 2, "coordinationCommandLine": "/bin/sh -c 'sleep 300 & echo $! >> $GO.pids'"}
    task = world.task(job, "a", "/bin/sh -c 'echo $$ >> $GO.pids; exec sleep 300'", multiInstanceSettings=settings)
    pids = tmp_path / "go.pids"
    await world.until(lambda: pids.exists() and len(pids.read_text().split()) == 3, lambda: "the primary runs")
    await world.pools.end_task(task)
    info = await world.done(task)
    assert info["failureInfo"]["code"] == "TaskEnded"
    for pid in pids.read_text().split():
        await world.until(lambda pid=pid: is_dead(int(pid)), lambda pid=pid: f"{pid} ends")
    await world.all_in(pool, "idle")


@in_world
async def test_many_tasks_run_each_once(world: World) -> None:
    pool = await world.pool(scaleSettings=fixed(2), taskSlotsPerNode=4)
    job = world.job(pool)
    for start in range(0, 300, 100):
        world.work.tasks.add(job, [{"id": str(start + number), "commandLine": "true"} for number in range(100)])
    await world.until(lambda: sum(world.work.counts(pool)) == 0, lambda: "all have ended")
    assert sum(node["totalTasksSucceeded"] for node in world.pools.nodes(pool)) == 300


def _job(world: World, pool: PoolKey, folder: Path, name: str = "job"):
    return world.job(pool, name, commonEnvironmentSettings=[{"name": "GO", "value": str(folder / "go")}])


def _running(world: World, tasks: list[TaskKey]) -> int:
    return sum(world.state_of(task) == "running" for task in tasks)
