"""Following a job on a pool: what its tasks wait for, what they write, when there is no hope, and how it ends. Each row of
`followed/batch.yaml`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from azure.batch import models
from azure.core.exceptions import ServiceRequestError

from azure_gpu.formats.task_file import Task
from azure_gpu_operations.batch.account import Counts
from azure_gpu_operations.run.on_batch.follow import Follower
from azure_gpu_operations.run.protocol import Output
from tests.operations.batch_answers import node, pool, scaled

ROWS = yaml.load((Path(__file__).parent / "followed" / "batch.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)["rows"]
WORKER = "workitems/run-x/job-1/main"


def task(look: Mapping[str, Any]) -> models.BatchTask:
    code = look.get("code")
    result = None if code is None else "success" if code == 0 else "failure"
    info = {"retryCount": look.get("retries", 0), "requeueCount": 0, "exitCode": code, "result": result}
    return models.BatchTask({"id": look.get("name", "main"), "state": look["state"], "executionInfo": info})


class ScriptedAccount:
    """Answers each look with the next of its row, and stays at the last. The second node's worker ends after one look."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.row = row
        self.looks = [each for each in row["looks"] for _ in range(each.get("times", 1))]
        self.now: Mapping[str, Any] = {}
        self.output = b""
        self.evaluated = self.asked_workers = 0

    def _look(self) -> Mapping[str, Any]:
        look = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if "error" in look:
            raise ServiceRequestError(look["error"])
        self.now = {**self.now, **look}
        self.output = look["output"].encode() if "output" in look else self.output
        return look

    def task(self, job_id: str, task_id: str) -> models.BatchTask | None:
        look = self._look()
        return task(look) if "state" in look else None

    def counts(self, job_id: str) -> Counts | None:
        counts = self._look()["counts"]
        return None if counts is None else Counts(**counts)

    def tasks(self, job_id: str, condition: str = "") -> list[models.BatchTask]:
        return [task(each) for each in self.row.get("listed", ())]

    def pool(self, pool_id: str) -> models.BatchPool | None:
        return scaled(**self.now["scaled"]) if "scaled" in self.now else pool(**self.now.get("pool", {}))

    def nodes(self, pool_id: str) -> list[models.BatchNode]:
        return [node(**each) for each in self.now.get("nodes", ())]

    def preparations(self, job_id: str) -> list[Any]:
        info = {"jobPreparationTaskExecutionInfo": self.row["preparation"]}
        return [models.BatchJobPreparationAndReleaseTaskStatus(info)]

    def evaluate_now(self, found: models.BatchPool) -> bool:
        self.evaluated += 1
        return True

    def read_from(self, job_id: str, task_id: str, path: str, start: int) -> bytes | None:
        return self.output[start:] if path == "stdout.txt" else None

    def subtasks(self, job_id: str, task_id: str) -> list[models.BatchSubtask]:
        self.asked_workers += 1
        there = "worker" in self.row
        return [models.BatchSubtask({"id": 1, "nodeInfo": {"nodeId": "n2", "taskRootDirectory": WORKER}})] if there else []

    def node_file(self, pool_id: str, node_id: str, path: str) -> bytes | None:
        assert (node_id, path.rpartition("/")[0]) == ("n2", WORKER)
        code = b"%d\n" % self.row["worker"] if self.asked_workers > 1 else None
        return {"worker-exit": code, "stderr.txt": b"ValueError: x\n"}[path.rsplit("/", 1)[1]]


@pytest.mark.parametrize("name", ROWS)
def test_a_run_is_followed_as_its_row_says(name: str) -> None:
    row = ROWS[name]
    account: Any = ScriptedAccount(row)
    shown, said, time = list[str](), list[str](), [0.0]

    def sleep(seconds: float) -> None:
        time[0] += seconds

    further = [Task(id=each, command="", path="", depends_on=tuple(after)) for each, after in row.get("tasks", {}).items()]
    follower = Follower(
        account,
        "run-x",
        "train",
        "train-1a2b3c4d",
        [Task(id="main", command="", path="", nodes=row.get("needs", 1)), *further],
        Output(shown.append, shown.append, said.append),
        prepares="preparation" in row,
        sleep=sleep,
        clock=lambda: time[0],
    )
    end = follower.follow()
    follower.finish()
    assert shown == row.get("shown", shown)
    assert said == row.get("said", said)
    assert said[: len(first := row.get("said_first", []))] == first
    assert row.get("hopeless", "") in end.hopeless
    assert bool(end.hopeless) == ("hopeless" in row)
    assert end.is_gone == row.get("gone", False)
    assert [each.id for each in end.tasks] == row.get("ended", [each.id for each in end.tasks])
    assert end.nodes == row.get("nodes", end.nodes)
    assert account.evaluated == row.get("evaluated", account.evaluated)
    assert account.asked_workers == row.get("asked_workers", account.asked_workers)
