"""Jobs and tasks without a server: what may start next, what the end of a task leads to, what clients do, and who hears of it.

Their lives are in `work.yaml`.
"""

import asyncio
import sqlite3
import subprocess
import sys
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml

from localazure.batch.errors import BatchError
from localazure.batch.model import Outcome, PoolKey, TaskKey, TaskNode
from localazure.batch.work import Work
from tests.localazure.batch.conftest import Clock
from tests.support.patience import SECONDS
from tests.support.rows import failure

ACCOUNT = "/subscriptions/0/resourcegroups/rg/providers/microsoft.batch/batchaccounts/acct"
POOL = PoolKey(ACCOUNT, "pool")
NODE = TaskNode("node-1", "TVM:node-1", "workitems/job/job-1/task")
BEGAN, ENDED = "2026-11-21T10:00:00.000000Z", "2026-11-21T10:00:01.000000Z"
Step = dict[str, Any]


def add_job(work: Work, *, quota: int | None = None, **given: Any) -> None:
    work.add_job(ACCOUNT, {"id": "job", "poolInfo": {"poolId": "Pool"}, **given}, quota=quota)


def add(work: Work, *names: str, job: str = "job", **given: Any) -> None:
    for result in work.tasks.add(work.jobs.get(ACCOUNT, job), [{"id": name, "commandLine": "true", **given} for name in names]):
        if isinstance(result, BatchError):
            raise result


def key(task: str) -> TaskKey:
    return TaskKey(ACCOUNT, "job", task)


def ready(work: Work) -> list[str]:
    return [run.task["id"] for run in work.ready(POOL)]


def run(work: Work, task: str, exit_code: int | None = 0, failure: dict[str, str] | None = None) -> None:
    work.begun(key(task), NODE)
    work.ended(key(task), Outcome(BEGAN, ENDED, exit_code, failure))


def parts(whole: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    return {name: whole.get(name) for name in asked}


# What a step does, by the word that it begins with
ACTS: dict[str, Any] = {
    "job": lambda work, step: add_job(work, quota=step.get("quota"), **step["job"]),
    "add": lambda work, step: add(work, *step["add"], job=step.get("of", "job"), **step.get("each", {})),
    "begin": lambda work, step: work.begun(key(step["begin"]), NODE, preparing=step.get("preparing", False)),
    "start": lambda work, step: work.started(key(step["start"])),
    "run": lambda work, step: run(work, step["run"], step.get("exit", 0), step.get("failure")),
    "end": lambda work, step: work.ended(key(step["end"]), Outcome(BEGAN, ENDED, step["exit"])),
    "requeue": lambda work, step: work.requeued(key(step["requeue"])),
    "stop": lambda work, step: work.tasks.terminate_waiting(work.tasks.get(key(step["stop"]))),
    "drop": lambda work, step: work.tasks.delete(work.tasks.get(key(step["drop"]))),
    "change": lambda work, step: work.jobs.change(work.jobs.get(ACCOUNT, "job"), step["change"], whole=step.get("whole", False)),
    "terminate": lambda work, step: work.jobs.terminate(work.jobs.get(ACCOUNT, step["terminate"])),
    "delete": lambda work, step: work.jobs.delete(work.jobs.get(ACCOUNT, step["delete"])),
    "settle": lambda work, step: work.jobs.settled(work.jobs.get(ACCOUNT, step["settle"])),
}
# What is found where a step says what is expected, by its words
ASKED: dict[str, Any] = {
    "ready": lambda work, _: ready(work),
    "state": lambda work, asked: {name: work.tasks.get(key(name)).state for name in asked},
    "tasks": lambda work, asked: {
        name: parts(work.tasks.get(key(name)).record["execution"], expected) for name, expected in asked.items()
    },
    "is": lambda work, asked: {name: work.jobs.get(ACCOUNT, name).state for name in asked},
    "reason": lambda work, _: work.jobs.get(ACCOUNT, "job").record["execution"]["terminateReason"],
    "body": lambda work, asked: parts(work.jobs.get(ACCOUNT, "job").body, asked),
    "counts": lambda work, _: list(work.counts(POOL)),
    "running": lambda work, _: [each.task for each in work.tables.running_keys(POOL)],
}


def lives(work: Work, clock: Clock, steps: list[Step]) -> None:
    clock.now = Clock().now
    asyncio.run(work.forget_account(ACCOUNT))
    if "job" not in steps[0]:
        add_job(work)
    for number, step in enumerate(steps, 1):
        act = next(iter(step))
        if "refused" in step:
            with pytest.raises(BatchError) as refused:
                ACTS[act](work, step)
            assert refused.value.code == step["refused"], f"step {number}: {step}"
        elif act == "pass":
            clock.now += timedelta(minutes=step["pass"])
            assert work.jobs.expire() == step["until"]
        elif act in ACTS:
            ACTS[act](work, step)
        expected = {word: step[word] for word in ASKED if word in step}
        assert {word: ASKED[word](work, asked) for word, asked in expected.items()} == expected, f"step {number}: {step}"


def test_jobs_and_tasks_live_as_the_service_keeps_them(work: Work, clock: Clock) -> None:
    rows: dict[str, list[Step]] = yaml.safe_load(Path(__file__).with_name("work.yaml").read_text(encoding="utf-8"))
    wrong = [failed for name, steps in rows.items() if (failed := failure(lives, (work, clock, steps), name))]
    assert not wrong, "\n".join(wrong)


def test_a_job_runs_no_more_tasks_at_once_than_it_allows(work: Work) -> None:
    add_job(work, maxParallelTasks=2)
    add(work, "a", "b", "c")
    taken = []
    for each in work.ready(POOL):
        work.begun(each.key, NODE)
        taken.append(each.task["id"])
    assert taken == ["a", "b"]
    work.ended(key("a"), Outcome(BEGAN, ENDED, 0))
    assert ready(work) == ["c"]


def test_another_pool_has_no_part_in_it(work: Work) -> None:
    add_job(work)
    add(work, "a")
    assert list(work.ready(PoolKey(ACCOUNT, "other"))) == []
    assert list(work.ready(PoolKey("another-account", "pool"))) == []


def test_more_tasks_than_a_page_come_one_by_one(work: Work) -> None:
    add_job(work)
    add(work, *(f"task-{number:03}" for number in range(50)))
    assert [run.task["id"] for run in islice(work.ready(POOL), 20, 23)] == ["task-020", "task-021", "task-022"]
    assert len(ready(work)) == 50


def test_a_run_says_how_many_nodes_and_slots_it_takes(work: Work) -> None:
    add_job(work)
    add(work, "wide", multiInstanceSettings={"numberOfInstances": 3, "coordinationCommandLine": "true"})
    add(work, "heavy", requiredSlots=4)
    wide, heavy = work.ready(POOL)
    assert (wide.instances, wide.slots) == (3, 1)
    assert (heavy.instances, heavy.slots) == (1, 4)
    assert work.counts(POOL) == (2, 0)


def test_counts_by_state_come_with_their_slots(work: Work) -> None:
    add_job(work)
    add(work, "won", "lost", "runs", "waits", requiredSlots=3)
    run(work, "won")
    run(work, "lost", 1)
    work.begun(key("runs"), NODE)
    counts = work.jobs.counts(work.jobs.get(ACCOUNT, "job"))
    assert counts["taskCounts"] == {"active": 1, "running": 1, "completed": 2, "succeeded": 1, "failed": 1}
    assert counts["taskSlotCounts"] == {"active": 3, "running": 3, "completed": 6, "succeeded": 3, "failed": 3}


def test_everything_outlives_the_server(work: Work, tmp_path: Path, clock: Clock) -> None:
    add_job(work)
    add(work, "runs", "waits")
    work.begun(key("runs"), NODE)
    work.close()
    with sqlite3.connect(tmp_path / "batch.sqlite") as kept:  # an earlier version knew a task's number
        kept.execute("UPDATE entries SET content = json_set(content, '$.number', 1)")
    following = Work(tmp_path / "batch.sqlite", clock)
    assert following.tables.running_keys(POOL) == [key("runs")]
    assert following.tasks.get(key("runs")).node == NODE
    assert [run.task["id"] for run in following.ready(POOL)] == ["waits"]
    again = following.run_of(key("runs"))
    assert again is not None
    assert again.task["id"] == "runs"


@pytest.mark.slow
def test_what_nodes_told_outlives_a_killed_server(tmp_path: Path) -> None:
    script = f"""
import os
from datetime import UTC, datetime
from pathlib import Path
from localazure.batch.model import Outcome, TaskKey, TaskNode
from localazure.batch.work import Work
work = Work(Path({str(tmp_path / "batch.sqlite")!r}), lambda: datetime.now(UTC))
job = work.add_job({ACCOUNT!r}, {{"id": "job", "poolInfo": {{"poolId": "pool"}}}})
work.tasks.add(job, [{{"id": name, "commandLine": "true"}} for name in ("ended", "runs")])
for name in ("ended", "runs"):
    work.begun(TaskKey({ACCOUNT!r}, "job", name), TaskNode("n", "a", "r"))
work.ended(TaskKey({ACCOUNT!r}, "job", "ended"), Outcome({BEGAN!r}, {ENDED!r}, 0))
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=SECONDS).returncode == -9
    work = Work(tmp_path / "batch.sqlite", Clock())
    assert [work.tasks.get(key(name)).state for name in ("ended", "runs")] == ["completed", "running"]
    work.close()


def test_an_account_that_goes_takes_its_jobs_along(work: Work) -> None:
    add_job(work)
    add(work, "a")
    work.add_job("another", {"id": "job", "poolInfo": {"poolId": "pool"}})
    asyncio.run(work.forget_account(ACCOUNT))
    assert [job.id for job in work.tables.jobs(ACCOUNT)] == []
    assert [job.id for job in work.tables.jobs("another")] == ["job"]


def test_a_pool_hears_of_new_work_after_it_is_durable(work: Work) -> None:
    heard: list[list[str]] = []
    work.listen(lambda pool: heard.append([run.task["id"] for run in work.ready(pool)]))
    add_job(work)
    add(work, "a")
    assert heard[-1] == ["a"]


def test_a_pool_hears_of_what_an_end_has_freed(work: Work) -> None:
    add_job(work, usesTaskDependencies=True)
    add(work, "a")
    add(work, "b", dependsOn={"taskIds": ["a"]})
    heard: list[PoolKey] = []
    work.listen(heard.append)
    run(work, "a")
    assert heard == [POOL]


def test_a_refused_task_tells_nobody(work: Work) -> None:
    add_job(work)
    heard: list[PoolKey] = []
    work.jobs.terminate(work.jobs.get(ACCOUNT, "job"))
    work.listen(heard.append)
    with pytest.raises(BatchError):
        add(work, "a")
    assert heard == []


def test_a_task_s_tag_changes_with_each_change(work: Work) -> None:
    add_job(work)
    add(work, "a")
    tags = [work.tasks.get(key("a")).record["eTag"]]
    for act in (lambda: work.begun(key("a"), NODE), lambda: work.ended(key("a"), Outcome(BEGAN, ENDED, 0))):
        act()
        tags.append(work.tasks.get(key("a")).record["eTag"])
    assert len(set(tags)) == 3
