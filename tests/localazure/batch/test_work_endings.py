"""Jobs on their way: terminated and deleted ones end their running tasks first, and then arrive."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from localazure.batch.endings import Endings
from localazure.batch.errors import BatchError
from localazure.batch.model import Outcome, PoolKey, TaskKey, TaskNode
from localazure.batch.work import Work
from tests.support.patience import SECONDS

ACCOUNT = "account"
POOL = PoolKey(ACCOUNT, "pool")
NODE = TaskNode("node-1", "TVM:node-1", "workitems/job/job-1/task")
BEGAN, ENDED = "2026-11-21T10:00:00.000000Z", "2026-11-21T10:00:01.000000Z"


class Nodes:
    """Ends what it is asked to end, and says so to Work, as the real ones do."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.calls: list[tuple[Any, ...]] = []
        self.errors = 0  # how many calls fail by an error of their own

    async def end_task(self, key: TaskKey) -> None:
        self.calls.append(("end_task", key.task))
        if self.errors:
            self.errors -= 1
            raise OSError("the node does not answer")
        failure = {"category": "UserError", "code": "TaskEnded", "message": "Task was ended by user request"}
        self.work.ended(key, Outcome(BEGAN, ENDED, None, failure, retried=False))

    async def end_job(self, account: str, job: str) -> None:
        self.calls.append(("end_job", job))

    async def forget_job(self, account: str, job: str) -> None:
        self.calls.append(("forget_job", job))


class World:
    def __init__(self, path: Path) -> None:
        self.now = datetime(2026, 11, 21, 10, tzinfo=UTC)
        self.work = Work(path, lambda: self.now)
        self.nodes = Nodes(self.work)
        self.endings = Endings(self.work, self.nodes)

    def add(self, *names: str, **given: Any) -> None:
        self.work.add_job(ACCOUNT, {"id": "job", "poolInfo": {"poolId": "pool"}, **given})
        self.work.tasks.add(self.job, [{"id": name, "commandLine": "true"} for name in names])

    def begin(self, *names: str) -> None:
        for name in names:
            self.work.begun(TaskKey(ACCOUNT, "job", name), NODE)

    @property
    def job(self) -> Any:
        return self.work.jobs.get(ACCOUNT, "job")

    def task(self, name: str) -> Any:
        return self.work.tasks.get(TaskKey(ACCOUNT, "job", name))

    def run(self, act: Callable[[], None], then: Callable[[], None] | None = None) -> None:
        """Acts with the endings running, and waits until the job has arrived; `then` comes before that."""

        async def whole() -> None:
            await self.endings.started()
            act()
            if then is not None:
                await asyncio.sleep(0)
                then()
            for way in list(self.endings._on_way.values()):
                await asyncio.wait([way], timeout=SECONDS)
            await self.endings.stopping()

        asyncio.run(whole())


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "batch.sqlite")
    yield world
    world.work.close()


def test_a_terminated_job_ends_what_runs_and_leaves_what_waits(world: World) -> None:
    world.add("runs", "waits")
    world.begin("runs")
    world.run(lambda: world.work.jobs.terminate(world.job, "enough"))
    assert world.nodes.calls == [("end_task", "runs"), ("end_job", "job")]
    assert world.job.state == "completed"
    assert world.job.record["execution"]["terminateReason"] == "enough"
    assert world.job.record["execution"]["endTime"]
    assert (world.task("runs").state, world.task("waits").state) == ("completed", "active")
    assert world.task("runs").record["execution"]["failureInfo"]["code"] == "TaskEnded"


def test_a_deleted_job_is_gone_with_its_tasks(world: World) -> None:
    world.add("runs")
    world.begin("runs")
    world.run(lambda: world.work.jobs.delete(world.job))
    assert world.nodes.calls == [("end_task", "runs"), ("forget_job", "job")]
    with pytest.raises(BatchError, match="JobNotFound"):
        _ = world.job
    world.add()
    with pytest.raises(BatchError, match="TaskNotFound"):
        world.task("runs")


def test_what_a_restart_cut_off_is_taken_up(world: World) -> None:
    world.add("runs")
    world.begin("runs")
    world.work.jobs.terminate(world.job)  # and the server goes before anything of it happens
    world.run(lambda: None)
    assert world.job.state == "completed"


def test_an_error_of_a_node_delays_an_end_and_does_not_stop_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localazure.batch.endings._PAUSE_SECONDS", 0)
    world.add("runs")
    world.begin("runs")
    world.nodes.errors = 2
    world.run(lambda: world.work.jobs.terminate(world.job))
    assert world.nodes.calls.count(("end_task", "runs")) == 3
    assert world.task("runs").state == "completed"


def test_a_node_that_never_answers_does_not_keep_a_job_for_ever(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localazure.batch.endings._PAUSE_SECONDS", 0)
    world.add("runs")
    world.begin("runs")
    world.nodes.errors = 100
    world.run(lambda: world.work.jobs.terminate(world.job))
    assert world.job.state == "completed"


def test_a_job_whose_time_was_over_while_no_server_ran_ends_at_the_next_start(world: World) -> None:
    world.add("runs", constraints={"maxWallClockTime": "PT1M"})
    world.begin("runs")
    world.now += timedelta(hours=1)

    async def whole() -> None:
        await world.endings.started()
        async with asyncio.timeout(SECONDS):
            while world.job.state != "completed":
                await asyncio.sleep(0)
        await world.endings.stopping()

    asyncio.run(whole())
    assert world.job.record["execution"]["terminateReason"] == "MaxWallClockTimeExpiry"
