"""Jobs and tasks of one account, without a server: what the tests of `Work` say and ask."""

from datetime import UTC, datetime
from typing import Any

from localazure.batch.errors import BatchError
from localazure.batch.model import Outcome, PoolKey, TaskKey, TaskNode
from localazure.batch.work import Work

ACCOUNT = "/subscriptions/0/resourcegroups/rg/providers/microsoft.batch/batchaccounts/acct"
POOL = PoolKey(ACCOUNT, "pool")
NODE = TaskNode("node-1", "TVM:node-1", "workitems/job/job-1/task")
BEGAN, ENDED = "2026-11-21T10:00:00.000000Z", "2026-11-21T10:00:01.000000Z"


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 21, 10, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def add_job(work: Work, name: str = "job", **given: Any) -> None:
    work.add_job(ACCOUNT, {"id": name, "poolInfo": {"poolId": "Pool"}, **given})


def add(work: Work, *names: str, job: str = "job", **given: Any) -> None:
    for result in work.tasks.add(work.jobs.get(ACCOUNT, job), [{"id": name, "commandLine": "true", **given} for name in names]):
        if isinstance(result, BatchError):
            raise result


def key(task: str, job: str = "job") -> TaskKey:
    return TaskKey(ACCOUNT, job, task)


def ready(work: Work) -> list[str]:
    return [run.task["id"] for run in work.ready(POOL)]


def run(work: Work, task: str, exit_code: int | None = 0, job: str = "job", **given: Any) -> None:
    work.begun(key(task, job), NODE)
    work.ended(key(task, job), Outcome(BEGAN, ENDED, exit_code, **given))


def state(work: Work, task: str) -> str:
    return work.tasks.get(key(task)).state


def execution(work: Work, task: str) -> dict[str, Any]:
    return work.tasks.get(key(task)).record["execution"]


def job_state(work: Work, job: str = "job") -> str:
    return work.jobs.get(ACCOUNT, job).state
