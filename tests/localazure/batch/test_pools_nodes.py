"""Nodes of a pool: how they come up, start tasks, restarts, scheduling, eviction."""

from pathlib import Path

import pytest

from localazure.fault import Fault
from tests.localazure.batch.world import World, fixed, in_world, run, written

pytestmark = pytest.mark.slow


@in_world
async def test_nodes_come_up_and_tell_what_they_are(world: World) -> None:
    pool = await world.pool(scaleSettings=fixed(2, 1))
    nodes = world.pools.nodes(pool)
    assert [node["isDedicated"] for node in nodes] == [True, True, False]
    assert len({node["id"] for node in nodes}) == 3
    assert len({node["ipAddress"] for node in nodes}) == 3
    assert all(node["ipAddress"].startswith("127.") for node in nodes)
    status = world.pools.status(pool)
    assert (status["currentDedicatedNodes"], status["currentLowPriorityNodes"]) == (2, 1)
    assert "errors" not in status["resizeOperationStatus"]


@in_world
async def test_a_start_task_runs_before_any_task(world: World) -> None:
    start = {
        "commandLine": "/bin/sh -c 'echo $GREETING > $AZ_BATCH_NODE_SHARED_DIR/hello; echo done'",
        "environmentSettings": [{"name": "GREETING", "value": "hi"}],
        "waitForSuccess": True,
    }
    pool = await world.pool(startTask=start)
    task = world.task(world.job(pool), "task", "/bin/sh -c 'cat $AZ_BATCH_NODE_SHARED_DIR/hello; echo [$GREETING]'")
    await world.done(task)
    assert world.output(task) == "hi\n[]\n"  # the start task's own variables are its own
    (node,) = world.pools.nodes(pool)
    info = node["startTaskInfo"]
    assert (info["state"], info["exitCode"], info["result"], info["retryCount"]) == ("completed", 0, "success", 0)
    root = world.pools.node_folder(pool, node["id"])
    assert root is not None
    assert (root / "startup" / "stdout.txt").read_text() == "done\n"


@in_world
async def test_a_start_task_that_fails_keeps_tasks_away_and_shows_why(world: World) -> None:
    start = {"commandLine": "/bin/sh -c 'echo no driver >&2; exit 7'", "waitForSuccess": True, "maxTaskRetryCount": 2}
    pool = await world.pool(startTask=start, ready=False)
    await world.all_in(pool, "starttaskfailed")
    (node,) = world.pools.nodes(pool)
    info = node["startTaskInfo"]
    assert (info["exitCode"], info["result"], info["retryCount"]) == (7, "failure", 2)
    assert info["failureInfo"]["code"] == "FailureExitCode"
    root = world.pools.node_folder(pool, node["id"])
    assert root is not None
    assert (root / "startup" / "stderr.txt").read_text() == "no driver\n"
    task = world.task(world.job(pool), "task", "true")
    assert world.state_of(task) == "active"


@in_world
async def test_a_start_task_that_nobody_waits_for_runs_beside_tasks(world: World) -> None:
    start = {"commandLine": "/bin/sh -c 'while [ ! -e $AZ_BATCH_NODE_SHARED_DIR/go ]; do sleep 0.02; done; exit 1'"}
    pool = await world.pool(startTask={**start, "waitForSuccess": False})
    await world.done(world.task(world.job(pool), "task", "/bin/sh -c 'touch $AZ_BATCH_NODE_SHARED_DIR/go'"))
    await world.until(lambda: world.pools.nodes(pool)[0]["startTaskInfo"]["state"] == "completed", lambda: "the start task ends")
    assert world.states(pool) == ["idle"]


@in_world
async def test_what_a_start_task_leaves_running_goes_on_until_the_node_goes(world: World) -> None:
    start = {"commandLine": "/bin/sh -c 'sleep 300 & echo $! > $AZ_BATCH_NODE_SHARED_DIR/daemon'", "waitForSuccess": True}
    pool = await world.pool(startTask=start)
    task = world.task(world.job(pool), "task", "/bin/sh -c 'kill -0 $(cat $AZ_BATCH_NODE_SHARED_DIR/daemon)'")
    info = await world.done(task)
    assert info["exitCode"] == 0


@in_world
async def test_a_node_restarts_and_its_task_runs_again_elsewhere_or_there(world: World) -> None:
    start = {"commandLine": "/bin/sh -c 'echo x >> ../starts'", "waitForSuccess": True}
    pool = await world.pool(startTask=start)
    (node,) = world.pools.nodes(pool)
    root = world.pools.node_folder(pool, node["id"])
    assert root is not None
    (root / "shared" / "file").touch()
    command = "/bin/sh -c 'echo x >> $COUNT; if [ $(wc -l < $COUNT) -lt 2 ]; then sleep 300; fi'"
    job = world.job(pool, commonEnvironmentSettings=[{"name": "COUNT", "value": str(world.state / "count")}])
    task = world.task(job, "task", command)
    await world.until(lambda: written(world.state / "count"), lambda: "it runs")
    await world.pools.reboot(pool, node["id"], "requeue")
    info = await world.done(task)
    assert info["exitCode"] == 0
    assert info["requeueCount"] == 1
    assert (world.state / "count").read_text() == "x\n" * 2
    assert (root / "shared" / "file").exists()
    assert (root / "startup" / "starts").read_text() == "x\n" * 2
    assert world.pools.nodes(pool)[0]["id"] == node["id"]


def test_an_evicted_spot_node_gives_its_task_away_and_comes_back_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localazure.batch.pool.RESTORE_SECONDS", 0.2)

    async def test(world: World) -> None:
        pool = await world.pool(scaleSettings=fixed(0, 1))
        (node,) = world.pools.nodes(pool)
        command = "/bin/sh -c 'echo x >> $COUNT; touch $AZ_BATCH_NODE_SHARED_DIR/f; [ $(wc -l < $COUNT) -gt 1 ] || sleep 300'"
        job = world.job(pool, commonEnvironmentSettings=[{"name": "COUNT", "value": str(tmp_path / "count")}])
        task = world.task(job, "task", command)
        await world.until(lambda: written(tmp_path / "count"), lambda: "it runs")
        assert await world.pools.evict(f"pool/{node['id']}") == [node["id"]]
        assert world.states(pool) == ["preempted"]
        assert world.state_of(task) == "active"
        assert world.pools.status(pool)["currentLowPriorityNodes"] == 1
        info = await world.done(task)
        assert info["requeueCount"] == 1
        assert info["exitCode"] == 0
        assert world.pools.nodes(pool)[0]["id"] == node["id"]

    run(tmp_path, test)


def test_an_evicted_node_stays_away_while_the_region_has_no_capacity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localazure.batch.pool.RESTORE_SECONDS", 0.05)

    async def test(world: World) -> None:
        pool = await world.pool(scaleSettings=fixed(0, 1))
        world.deviations.faults = [Fault(kind="capacity", location="westeurope")]
        looked = 0
        lacks = world.deviations.lacks_capacity

        def looks(region: str) -> bool:
            nonlocal looked
            looked += 1
            return lacks(region)

        monkeypatch.setattr(type(world.deviations), "lacks_capacity", lambda _, region: looks(region))
        await world.pools.evict("pool")
        await world.until(lambda: looked >= 3, lambda: "capacity is looked for")
        assert world.states(pool) == ["preempted"]
        world.deviations.faults = []
        await world.all_in(pool, "idle")

    run(tmp_path, test)


@in_world
async def test_dedicated_nodes_are_not_evicted(world: World) -> None:
    pool = await world.pool()
    assert await world.pools.evict("pool") == []
    assert await world.pools.evict("other") == []
    assert world.states(pool) == ["idle"]


@in_world
async def test_a_mount_that_is_not_imitated_makes_the_node_unusable_by_name(world: World) -> None:
    nfs = {"nfsMountConfiguration": {"source": "fs:/share", "relativeMountPath": "data"}}
    pool = await world.pool(mountConfiguration=[nfs], ready=False)
    await world.all_in(pool, "unusable")
    (error,) = world.pools.nodes(pool)[0]["errors"]
    assert error["code"] == "MountConfigurationError"
    assert "nfsMountConfiguration" in {pair["value"] for pair in error["errorDetails"]}
