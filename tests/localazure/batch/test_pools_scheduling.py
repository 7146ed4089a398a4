"""Which task runs where: slots, pack and spread, affinity, jobs' preparation and release, multi-instance tasks."""

from pathlib import Path

import pytest

from tests.localazure.batch.world import ACCOUNT, World, fixed, in_world, is_dead

pytestmark = pytest.mark.slow

WAITING = "/bin/sh -c 'while [ ! -e $GO ]; do sleep 0.02; done'"


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
async def test_many_tasks_run_each_once(world: World) -> None:
    pool = await world.pool(scaleSettings=fixed(2), taskSlotsPerNode=4)
    job = world.job(pool)
    for start in range(0, 300, 100):
        world.work.tasks.add(job, [{"id": str(start + number), "commandLine": "true"} for number in range(100)])
    await world.until(lambda: sum(world.work.counts(pool)) == 0, lambda: "all have ended")
    assert sum(node["totalTasksSucceeded"] for node in world.pools.nodes(pool)) == 300
