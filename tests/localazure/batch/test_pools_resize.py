"""How many nodes a pool has: resizes, what becomes of tasks on nodes that leave, quotas, capacity, formulas."""

from datetime import timedelta
from pathlib import Path

import pytest

from localazure.fault import Fault
from tests.localazure.batch.world import AS_OF, World, fixed, in_first_world, in_world, left_alone, pool_body, written

pytestmark = pytest.mark.slow

FAMILY = "Standard NCASv3_T4 Family"  # of the size in `world`


@in_world
async def test_a_pool_grows_and_shrinks(world: World) -> None:
    pool = await world.pool(scaleSettings=fixed(1))
    (first,) = world.pools.nodes(pool)
    await world.pools.resize(pool, 3, 1, "requeue", "PT15M")
    assert world.pools.status(pool)["allocationState"] == "Resizing"
    await world.until(lambda: len(world.states(pool)) == 4, lambda: "four nodes")
    await world.all_in(pool, "idle")
    assert world.pools.nodes(pool)[0]["id"] == first["id"]
    await world.pools.resize(pool, 0, 0, "requeue", "PT15M")
    await world.until(lambda: world.states(pool) == [], lambda: "no node is left")
    assert list((world.state / "batch").iterdir()) == []
    status = world.pools.status(pool)["resizeOperationStatus"]
    assert (status["targetDedicatedNodes"], status["targetLowPriorityNodes"]) == (0, 0)


@in_world
async def test_another_body_with_the_same_scale_resizes_nothing(world: World) -> None:
    pool = await world.pool()
    await world.pools.resize(pool, 2, 0, "requeue", "PT15M")
    await world.until(lambda: len(world.states(pool)) == 2, lambda: "two nodes")
    await world.pools.apply(pool, pool_body(metadata=[{"name": "a", "value": "b"}]), AS_OF)
    await world.all_in(pool, "idle")
    assert len(world.states(pool)) == 2
    await world.pools.apply(pool, pool_body(scaleSettings=fixed(0)), AS_OF)
    await world.until(lambda: world.states(pool) == [], lambda: "no node is left")


@pytest.mark.parametrize(
    ("option", "exit_code", "requeues"), [("requeue", None, 1), ("terminate", None, 0), ("taskcompletion", 0, 0)]
)
@in_world
async def test_what_becomes_of_a_task_on_a_node_that_leaves(
    world: World, option: str, exit_code: int | None, requeues: int
) -> None:
    pool = await world.pool()
    job = world.job(pool, commonEnvironmentSettings=[{"name": "GO", "value": str(world.state / "go")}])
    task = world.task(job, "task", "/bin/sh -c 'echo runs > $GO.runs; while [ ! -e $GO ]; do sleep 0.02; done'")
    await world.until(lambda: written(world.state / "go.runs"), lambda: "it runs")
    await world.pools.resize(pool, 0, 0, option, "PT15M")
    if option == "taskcompletion":
        await world.until(lambda: world.states(pool) == ["leavingpool"], lambda: "the node waits for its task")
        assert world.state_of(task) == "running"
        (world.state / "go").touch()
    await world.until(lambda: world.states(pool) == [], lambda: "no node is left")
    execution = world.work.tasks.get(task).record["execution"]
    assert execution["requeueCount"] == requeues
    assert world.state_of(task) == ("active" if requeues else "completed")
    if option == "terminate":
        assert execution["failureInfo"]["code"] == "TaskEnded"
    if exit_code is not None:
        assert execution["exitCode"] == exit_code


@in_world
async def test_idle_nodes_leave_before_busy_ones(world: World) -> None:
    pool = await world.pool(scaleSettings=fixed(3))
    task = world.task(world.job(pool), "task", "sleep 300")
    await world.until(lambda: world.state_of(task) == "running", lambda: "it runs")
    await world.pools.resize(pool, 1, 0, "requeue", "PT15M")
    await world.until(lambda: world.states(pool) == ["running"], lambda: "the busy node is left")
    node = world.work.node_of(task)
    assert node is not None
    assert node.node_id == world.pools.nodes(pool)[0]["id"]


@in_world
async def test_a_resize_that_waits_for_tasks_ends_with_an_error_when_its_time_is_over(world: World) -> None:
    pool = await world.pool()
    task = world.task(world.job(pool), "task", "sleep 300")
    await world.until(lambda: world.state_of(task) == "running", lambda: "it runs")
    await world.pools.resize(pool, 0, 0, "taskcompletion", "PT0.3S")
    await world.until(lambda: world.pools.status(pool)["allocationState"] == "Steady", lambda: "it gives up")
    (error,) = world.pools.status(pool)["resizeOperationStatus"]["errors"]
    assert error["code"] == "AllocationTimedout"
    assert world.state_of(task) == "running"


@in_world
async def test_a_resize_replaces_one_that_is_under_way(world: World) -> None:
    pool = await world.pool(scaleSettings=fixed(3))
    await world.pools.resize(pool, 0, 0, "requeue", "PT15M")
    await world.until(lambda: "leavingpool" in world.states(pool), lambda: "nodes are on their way")
    await world.pools.resize(pool, 2, 0, "requeue", "PT15M")
    await world.until(lambda: len(world.states(pool)) == 2, lambda: "two nodes are there")
    await world.all_in(pool, "idle")
    assert len(list((world.state / "batch").iterdir())) == 2


@in_first_world
async def test_nodes_that_were_leaving_go_on_leaving_after_a_restart(first: World, tmp_path: Path) -> None:
    pool = await first.pool(scaleSettings=fixed(2))
    _, leaving = first.pools.nodes(pool)
    job = first.job(pool, commonEnvironmentSettings=[{"name": "GO", "value": str(tmp_path / "go")}])
    affinity = {"affinityId": leaving["affinityId"]}
    task = first.task(job, "task", "/bin/sh -c 'while [ ! -e $GO ]; do sleep 0.02; done'", affinityInfo=affinity)
    await first.until(lambda: first.state_of(task) == "running", lambda: "it runs")
    await first.pools.resize(pool, 0, 0, "taskcompletion", "PT15M")
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


@in_world
async def test_a_stopped_resize_leaves_what_there_is(world: World) -> None:
    pool = await world.pool()
    task = world.task(world.job(pool), "task", "sleep 300")
    await world.until(lambda: world.state_of(task) == "running", lambda: "it runs")
    await world.pools.resize(pool, 0, 0, "taskcompletion", "PT15M")
    await world.until(lambda: world.states(pool) == ["leavingpool"], lambda: "the node waits for its task")
    await world.pools.stop_resize(pool)
    assert world.pools.status(pool)["allocationState"] == "Steady"
    assert world.states(pool) == ["running"]


@in_world
async def test_a_region_without_capacity_gives_no_nodes_and_says_so(world: World) -> None:
    world.deviations.faults = [Fault(kind="capacity", location="westeurope")]
    pool = await world.pool(scaleSettings=fixed(2, 1), ready=False)
    await world.all_in(pool, "idle")
    assert world.states(pool) == []
    errors = world.pools.status(pool)["resizeOperationStatus"]["errors"]
    assert [error["code"] for error in errors] == ["AllocationFailed"] * 2


@in_world
async def test_a_pool_gets_as_many_nodes_as_the_quota_allows(world: World) -> None:
    fault = Fault(kind="quota", service="batch", location="westeurope", name=FAMILY, limit=11)  # a node has 4 vCPUs
    world.deviations.faults = [fault]
    pool = await world.pool(scaleSettings=fixed(3), ready=False)
    await world.until(lambda: len(world.states(pool)) == 2, lambda: "as many as fit")
    await world.all_in(pool, "idle")
    (error,) = world.pools.status(pool)["resizeOperationStatus"]["errors"]
    assert error["code"] == "AccountVMSeriesCoreQuotaReached"


@in_world
async def test_a_removed_pool_leaves_nothing_and_its_tasks_wait(world: World) -> None:
    pool = await world.pool(scaleSettings=fixed(2))
    task = world.task(world.job(pool), "task", "sleep 300")
    await world.until(lambda: world.state_of(task) == "running", lambda: "it runs")
    await world.pools.remove(pool)
    assert world.state_of(task) == "active"
    assert list((world.state / "batch").iterdir()) == []
    assert world.pools.status(pool) == {}
    assert world.store.documents("batch/pools/") == {}
    await world.pools.remove(pool)  # once more is nothing


# Formulas


@in_world
async def test_a_formula_brings_nodes_for_pending_tasks_and_takes_them_away(world: World) -> None:
    formula = "$TargetDedicatedNodes = min(2, $PendingTasks.GetSample(1)); $NodeDeallocationOption = taskcompletion;"
    scale = {"autoScale": {"formula": formula, "evaluationInterval": "PT5M"}}
    pool = await world.pool(scaleSettings=scale, ready=False)
    assert world.states(pool) == []
    run_of = world.pools.status(pool)["autoScaleRun"]
    assert run_of["results"].startswith("$TargetDedicatedNodes=0;")
    assert "error" not in run_of
    job = world.job(pool)
    tasks = [world.task(job, str(number), "true") for number in range(5)]
    world.moved += timedelta(minutes=4)
    world.pools.tick()
    assert world.states(pool) == []  # not due yet
    world.moved += timedelta(minutes=1)
    world.pools.tick()
    await world.until(lambda: len(world.states(pool)) == 2, lambda: "two nodes")
    for task in tasks:
        await world.done(task)
    world.moved += timedelta(minutes=5)
    world.pools.tick()
    await world.until(lambda: world.states(pool) == [], lambda: "no node is left")


@in_world
async def test_a_formula_set_anew_is_evaluated_at_once(world: World) -> None:
    pool = await world.pool(scaleSettings=fixed(0), ready=False)
    world.pools.set_autoscale(pool, "$TargetDedicatedNodes = 1;", "PT15M")
    await world.until(lambda: world.states(pool) == ["idle"], lambda: "a node comes up")
    world.pools.set_autoscale(pool, "", "")
    assert "autoScaleRun" not in world.pools.status(pool)
    assert world.states(pool) == ["idle"]


@in_world
async def test_a_formula_that_fails_leaves_the_pool_as_it_is_and_says_why(world: World) -> None:
    pool = await world.pool()
    world.pools.set_autoscale(pool, "$TargetDedicatedNodes = $CPUPercent.GetSample(TimeInterval_Minute, 90);", "PT15M")
    error = world.pools.status(pool)["autoScaleRun"]["error"]
    assert "line 1, column" in error["message"]
    assert world.states(pool) == ["idle"]


@in_world
async def test_a_formula_can_be_tried_without_a_resize(world: World) -> None:
    pool = await world.pool()
    found = await world.pools.evaluate(pool, "$TargetDedicatedNodes = $CurrentDedicatedNodes + 4;")
    assert found["results"].startswith("$TargetDedicatedNodes=5;$TargetLowPriorityNodes=0;$NodeDeallocationOption=requeue")
    assert world.pools.status(pool)["allocationState"] == "Steady"
