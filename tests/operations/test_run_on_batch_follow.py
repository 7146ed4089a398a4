"""Following a job on a pool: what its tasks wait for, what they write, when there is no hope, and how it ends."""

from collections.abc import Sequence
from typing import Any

from azure.batch import models
from azure.core.exceptions import ServiceRequestError

from azure_gpu.formats.task_file import Task
from azure_gpu_operations.batch.account import Counts
from azure_gpu_operations.run.on_batch.follow import EVALUATE_SECONDS, End, Follower
from tests.operations.batch_answers import node, pool, scaled

ONE = (Task(id="main", command="", path=""),)


def task(state: str, code: int | None = None, name: str = "main", retries: int = 0) -> models.BatchTask:
    result = None if code is None else "success" if code == 0 else "failure"
    info = {"retryCount": retries, "requeueCount": 0, "exitCode": code, "result": result}
    return models.BatchTask({"id": name, "state": state, "executionInfo": info})


class ScriptedAccount:
    """Answers each look with the next state of its script, and stays at the last."""

    def __init__(self, *looks: Any, counts: Sequence[Counts | None] = ()) -> None:
        self.looks = list(looks)  # a task; or a task, a pool and its nodes
        self.counted = list(counts)
        self.evaluated = 0
        self.output = b""
        self.listed: list[models.BatchTask] = []
        self.prepared: list[Any] = []
        self.now: tuple[models.BatchPool | None, list[models.BatchNode]] = (pool(), [])

    def task(self, job_id: str, task_id: str) -> models.BatchTask | None:
        look = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(look, Exception):
            raise look
        found, self.now = (look[0], (look[1], look[2])) if isinstance(look, tuple) else (look, self.now)
        return found

    def counts(self, job_id: str) -> Counts | None:
        return self.counted.pop(0) if len(self.counted) > 1 else self.counted[0]

    def tasks(self, job_id: str, condition: str = "") -> list[models.BatchTask]:
        return self.listed

    def pool(self, pool_id: str) -> models.BatchPool | None:
        return self.now[0]

    def nodes(self, pool_id: str) -> list[models.BatchNode]:
        return self.now[1]

    def preparations(self, job_id: str) -> list[Any]:
        return self.prepared

    def evaluate_now(self, found: models.BatchPool) -> bool:
        self.evaluated += 1
        return True

    def task_file_size(self, job_id: str, task_id: str, path: str) -> int | None:
        return len(self.output) if path == "stdout.txt" else None

    def task_file(self, job_id: str, task_id: str, path: str, start: int = 0, end: int | None = None) -> bytes | None:
        return self.output[start:end]


def followed(account: Any, tasks: Sequence[Task] = ONE, *, prepares: bool = False) -> tuple[End, list[str], list[str]]:
    """The end, what was shown, and what was said. Its clock goes on by what it sleeps."""
    shown: list[str] = []
    said: list[str] = []
    time = [0.0]

    def sleep(seconds: float) -> None:
        time[0] += seconds

    follower = Follower(
        account,
        "run-x",
        "train",
        "train-1a2b3c4d",
        tasks,
        prepares=prepares,
        show=shown.append,
        show_error=shown.append,
        say=said.append,
        sleep=sleep,
        clock=lambda: time[0],
    )
    end = follower.follow()
    follower.finish()
    return end, shown, said


def test_what_a_task_waits_for_is_said_once_each() -> None:
    resizing = scaled(allocationState="resizing", targetDedicatedNodes=1)
    has_one = scaled(targetDedicatedNodes=1, currentDedicatedNodes=1)
    account = ScriptedAccount(
        (task("active"), resizing, []),
        (task("active"), resizing, []),
        (task("active"), has_one, [node("starting")]),
        (task("active"), has_one, [node("waitingforstarttask")]),
        (task("preparing"), has_one, [node("running")]),
        task("completed", 0),
    )
    end, _, said = followed(account)
    assert said == [
        "the pool train is resizing: 0 → 1 node",
        "1 node of the pool train is starting",
        "1 node of the pool train runs its start task",
        "the node is preparing the task: downloading its files or image",
    ]
    assert [each.id for each in end.tasks] == ["main"]
    assert end.nodes == {"tvmps_1_d": True}


def test_a_task_over_several_nodes_waits_until_all_of_them_are_free() -> None:
    two = (Task(id="main", command="", path="", nodes=2),)
    has_two = pool(targetDedicatedNodes=2, currentDedicatedNodes=2)
    account = ScriptedAccount((task("active"), has_two, [node("idle"), node("running")]), task("completed", 0))
    _, _, said = followed(account, two)
    assert said == ["2 nodes of the pool train are needed at once, and 1 of 2 is idle"]


class Workers(ScriptedAccount):
    """Of a task that runs on two nodes: the second's worker ends with a code when it has been looked at once."""

    code = b"7\n"
    looked = 0

    def subtasks(self, job_id: str, task_id: str) -> list[models.BatchSubtask]:
        self.looked += 1
        info = {"nodeId": "n2", "taskRootDirectory": "workitems/run-x/job-1/main"}
        return [models.BatchSubtask({"id": 1, "nodeInfo": info})]

    def node_file(self, pool_id: str, node_id: str, path: str) -> bytes | None:
        assert (node_id, path.rpartition("/")[0]) == ("n2", "workitems/run-x/job-1/main")
        files = {"worker-exit": self.code if self.looked > 1 else None, "stderr.txt": b"ValueError: x\n"}
        return files[path.rsplit("/", 1)[1]]


def test_a_worker_that_failed_and_is_waited_for_ends_the_run() -> None:
    two = (Task(id="main", command="", path="", nodes=2),)
    account = Workers(task("running"))
    end, shown, _ = followed(account, two)
    assert (
        end.hopeless == "the worker of subtask 1 on node n2 ended with exit code 7, and the first worker is still waiting for it"
    )
    assert account.looked == 3, "the first worker had the time between two looks to end by itself"
    assert shown == ["ValueError: x"]


def test_workers_that_end_well_end_nothing() -> None:
    two = (Task(id="main", command="", path="", nodes=2),)
    account = Workers(*[task("running")] * 40, task("completed", 0))
    account.code = b"0\n"
    end, shown, _ = followed(account, two)
    assert (end.hopeless, shown) == ("", [])
    assert account.looked > 2


def test_a_formula_is_asked_again_until_it_gives_nodes_but_not_more_often_than_batch_takes_it() -> None:
    looks = [(task("active"), scaled(), [])] * int(EVALUATE_SECONDS)  # each look takes two seconds
    account = ScriptedAccount(*looks, task("completed", 0))
    followed(account)
    assert account.evaluated == 2


def test_a_pool_of_a_fixed_size_is_asked_no_formula() -> None:
    account = ScriptedAccount((task("active"), pool(targetDedicatedNodes=1), []), task("completed", 0))
    followed(account)
    assert account.evaluated == 0


def test_a_formula_that_gives_too_few_nodes_again_and_again_is_no_hope() -> None:
    two = (Task(id="main", command="", path="", nodes=2),)
    account = ScriptedAccount((task("active"), scaled(targetDedicatedNodes=1, currentDedicatedNodes=1), [node()]))
    end, _, _ = followed(account, two)
    assert "gives 1 node to a task that needs 2 at once; `nodes_per_task: 2`" in end.hopeless


def test_a_start_task_that_failed_on_every_node_is_no_hope() -> None:
    broken = node("starttaskfailed", startTaskInfo={"state": "completed", "exitCode": 3, "retryCount": 0})
    account = ScriptedAccount((task("active"), pool(targetDedicatedNodes=1, currentDedicatedNodes=1), [broken]))
    assert followed(account)[0].hopeless == "the start task of the pool train failed with exit code 3 on its node"


def test_a_quota_that_is_used_up_is_no_hope_and_a_region_without_machines_is_some() -> None:
    quota = [{"code": "AccountVMSeriesCoreQuotaReached", "message": "quota for standardNCASv3_T4Family"}]
    account = ScriptedAccount((task("active"), pool(targetDedicatedNodes=1, resizeErrors=quota), []))
    assert "AccountVMSeriesCoreQuotaReached: quota for" in followed(account)[0].hopeless
    capacity = [{"code": "AllocationFailed", "message": "no machines"}]
    waits = ScriptedAccount((task("active"), pool(targetDedicatedNodes=1, resizeErrors=capacity), []), task("completed", 0))
    end, _, said = followed(waits)
    assert end.hopeless == ""
    assert said == ["the pool train got no nodes: AllocationFailed: no machines"]


def test_a_preparation_that_failed_is_no_hope() -> None:
    account = ScriptedAccount((task("preparing"), pool(targetDedicatedNodes=1, currentDedicatedNodes=1), [node("running")]))
    info = {"state": "completed", "result": "failure", "exitCode": 1, "retryCount": 0}
    account.prepared = [models.BatchJobPreparationAndReleaseTaskStatus({"jobPreparationTaskExecutionInfo": info})]
    assert "the job's preparation failed with exit code 1" in followed(account, prepares=True)[0].hopeless


def test_lines_are_shown_when_they_are_whole_and_the_last_one_at_the_end() -> None:
    account = ScriptedAccount(task("running"))

    def looks() -> Any:
        for output, state in ((b"one\ntw", "running"), (b"one\ntwo\nthr", "running"), (b"one\ntwo\nthree", "completed")):
            account.output = output
            yield task(state, 0 if state == "completed" else None)

    script = looks()
    account.task = lambda job_id, task_id: next(script)
    assert followed(account)[1] == ["one", "two", "three"]


def test_a_task_that_starts_anew_is_shown_from_its_beginning() -> None:
    account = ScriptedAccount(task("running"))

    def looks() -> Any:
        account.output = b"first run\n"
        yield task("running")
        account.output = b"again\n"
        yield task("running", retries=1)
        yield task("completed", 0)

    script = looks()
    account.task = lambda job_id, task_id: next(script)
    _, shown, said = followed(account)
    assert shown == ["first run", "again"]
    assert said == ["the task failed; retry 1"]


def test_azure_may_be_away_for_a_while() -> None:
    account = ScriptedAccount(ServiceRequestError("connection refused"), task("completed", 0))
    end, _, said = followed(account)
    assert end.tasks
    assert said == ["Batch can't be reached at the moment, retrying: connection refused"]


def test_many_tasks_are_counted_and_end_when_the_rest_waits_for_one_that_failed() -> None:
    tasks = [
        Task(id="a", command="", path=""),
        Task(id="b", command="", path="", depends_on=("a",)),
        Task(id="c", command="", path="", depends_on=("b",)),
    ]
    account = ScriptedAccount(counts=[Counts(active=2, running=1), Counts(active=2, failed=1)])
    account.listed = [task("completed", 1, "a"), task("active", name="b"), task("active", name="c")]
    end, _, said = followed(account, tasks)
    assert [each.id for each in end.tasks] == ["a", "b", "c"]
    assert end.hopeless == ""
    assert said[0] == "0 of 3 tasks, 1 running"


def test_a_job_that_somebody_deletes_is_noticed() -> None:
    assert followed(ScriptedAccount(None))[0].is_gone
    assert followed(ScriptedAccount(counts=[None]), [*ONE, Task(id="b", command="", path="")])[0].is_gone
