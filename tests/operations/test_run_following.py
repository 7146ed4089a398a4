"""Runs followed to their ends on machines, workspaces, pools and clusters: what they wait for and write, and what is hopeless.

Each row of `followed/`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from azure.batch import models
from azure.core.exceptions import ServiceRequestError

from azure_gpu.formats.task_file import Task
from azure_gpu.kubernetes.worker_group import ATTEMPT_LABEL, INDEX_LABEL
from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.batch.account import Counts
from azure_gpu_operations.batch.pool_cost import node_price
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.machine_learning import job_log
from azure_gpu_operations.run import gpu_confirmation
from azure_gpu_operations.run.log_lines import BlobTail, PodLog
from azure_gpu_operations.run.on_batch.follow import Follower as BatchFollower
from azure_gpu_operations.run.on_cluster import outcome
from azure_gpu_operations.run.on_cluster.follow import End, Follower as ClusterFollower
from azure_gpu_operations.run.on_cluster.outcome import GROUP, JOB as JOB_KIND
from azure_gpu_operations.run.on_ml_cluster import plan as ml_plan
from azure_gpu_operations.run.on_ml_cluster.run import Follower as MlFollower
from azure_gpu_operations.run.on_vm.run import Follower as VmFollower
from azure_gpu_operations.run.protocol import Output
from tests.operations import kubernetes_bodies as bodies
from tests.operations.batch_answers import node, pool, scaled

SMI = "Tesla K80, 3.7, 823.5, 000006C3:00:00.0, 11438, 11377, 470.82.01"
ROWS, BATCH_ROWS, CLUSTER_ROWS = (
    yaml.load((Path(__file__).parent / "followed" / f"{name}.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    for name in ("services", "batch", "cluster")
)


class Told:
    """What a follower shows and says, and a time that goes on by what it sleeps."""

    def __init__(self) -> None:
        self.shown, self.errors, self.said, self.now = list[str](), list[str](), list[str](), 0.0

    @property
    def arguments(self) -> dict[str, Any]:
        output = Output(self.shown.append, self.errors.append, self.said.append)
        return {"output": output, "sleep": self._sleep, "clock": lambda: self.now}

    def _sleep(self, seconds: float) -> None:
        self.now += seconds


class Arm:
    """Answers one look of a row after the other, the last again and again."""

    def __init__(self, looks: Sequence[Mapping[str, Any] | None], service: str) -> None:
        self._looks, self._service = list(looks), service

    def get(self, resource_id: str, api_version: str, **query: str) -> dict[str, Any] | None:
        look = self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]
        if look is not None and "status" in look and "error" in look:
            raise AzureError(look["error"], look["status"])
        return None if look is None else {"properties": {"instanceView": look} if self._service == "vm" else look}


def growing(parts: Iterable[bytes]) -> Callable[[int], bytes | None]:
    """A blob that grows by one part each time that it is read; there is none before the first."""
    rest: Iterator[bytes] = iter(parts)
    content: list[bytes] = []

    def read(start: int) -> bytes | None:
        part = next(rest, None)
        if part is not None:
            content.append(part)
        whole = b"".join(content)
        return whole[start:] if content else None

    return read


@pytest.mark.parametrize(("service", "name"), [(service, name) for service in ("vm", "ml") for name in ROWS[service]])
def test_a_run_is_followed_as_its_row_says(service: str, name: str) -> None:
    row = ROWS[service][name]
    arm: Any = Arm(row["looks"], service)
    told = Told()
    blobs = {stream: growing(part.encode() for part in row.get(stream, ())) for stream in ("stdout", "stderr", "log")}
    if service == "vm":
        follower: Any = VmFollower(arm, "/c", lambda stream, at: blobs[stream](at), **told.arguments)
    else:
        follower = MlFollower(arm, "/j", blobs["log"], **told.arguments)
    if "raises" in row:
        with pytest.raises(AzureError, match=row["raises"]):
            follower.follow()
        return
    end = follower.follow()
    assert {field: getattr(end, field) for field in row["end"]} == row["end"]
    assert (told.shown, told.errors) == (row.get("out", told.shown), row.get("err", []))
    assert (told.said, told.now) == (row.get("said", told.said), row.get("now", told.now))


def test_an_error_within_errors_is_told() -> None:
    assert job_log.error_of({"error": {"error": {"code": "A", "message": "b"}}}) == "A: b"


def test_a_blob_is_shown_by_whole_lines_and_each_once_however_it_comes() -> None:
    shown: list[str] = []
    tail = BlobTail(growing([b"", b"one\ntw", b"o\r\n\xc3", b"\xa9 three"]), shown.append)
    assert [tail.more() for _ in range(5)] == [False, True, True, True, False]
    assert shown == ["one", "two"]
    tail.finish()
    assert shown == ["one", "two", "é three"]
    assert tail.ends_with("two\r\né three\n")
    assert not tail.ends_with("more")


def test_lines_of_the_program_are_its_own_and_ours_are_taken_out() -> None:
    assert gpu_confirmation.messages_in("hello") is None
    assert (gpu_confirmation.messages_in(f"azure-gpu: gpu {SMI}") or [])[0] == "name: Tesla K80"
    assert gpu_confirmation.messages_in("azure-gpu: something else") == []
    assert ml_plan.exit_code("azure-gpu: exit 137") == 137
    assert ml_plan.exit_code("azure-gpu: exit") is None


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


@pytest.mark.parametrize("name", BATCH_ROWS["rows"])
def test_a_job_on_a_pool_is_followed_as_its_row_says(name: str) -> None:
    row = BATCH_ROWS["rows"][name]
    account: Any = ScriptedAccount(row)
    told = Told()
    told.errors = told.shown
    further = [Task(id=each, command="", path="", depends_on=tuple(after)) for each, after in row.get("tasks", {}).items()]
    follower = BatchFollower(
        account,
        "run-x",
        "train",
        "train-1a2b3c4d",
        [Task(id="main", command="", path="", nodes=row.get("needs", 1)), *further],
        prepares="preparation" in row,
        **told.arguments,
    )
    end = follower.follow()
    follower.finish()
    assert told.shown == row.get("shown", told.shown)
    assert told.said == row.get("said", told.said)
    assert told.said[: len(first := row.get("said_first", []))] == first
    assert row.get("hopeless", "") in end.hopeless
    assert bool(end.hopeless) == ("hopeless" in row)
    assert end.is_gone == row.get("gone", False)
    assert [each.id for each in end.tasks] == row.get("ended", [each.id for each in end.tasks])
    assert end.nodes == row.get("nodes", end.nodes)
    assert account.evaluated == row.get("evaluated", account.evaluated)
    assert account.asked_workers == row.get("asked_workers", account.asked_workers)


JOB = "run-x"
NOW = datetime(2026, 11, 22, 10, 5, tzinfo=UTC)
LABELS = {"index": INDEX_LABEL, "attempt": ATTEMPT_LABEL}


def pod_of_row(row: Mapping[str, Any]) -> dict[str, Any]:
    said = dict(row)
    labels = said.pop("labels", {})
    body = bodies.of_row(said)
    body["metadata"]["labels"] |= {LABELS[name]: value for name, value in labels.items()}
    return body


class ScriptedCluster:
    """Answers each look at the Job with the next of its script, and stays at the last."""

    def __init__(self, looks: Sequence[Mapping[str, Any]], log: Sequence[str], *, group: bool) -> None:
        self.looks = [each for each in looks for _ in range(each.get("times", 1))]
        self.lines = [f"2026-11-22T10:01:0{index}.5Z {line}" for index, line in enumerate(log)]
        self.group = group
        self.now: Mapping[str, Any] = {}

    def get(self, path: str) -> dict[str, Any] | None:
        if "/nodes/" in path:
            nodes = [bodies.node(**each) for each in self.now.get("nodes", ())]
            return next((each for each in nodes if path.endswith(each["metadata"]["name"])), None)
        self.now = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if "error" in self.now:
            raise ClusterError(self.now["error"], self.now.get("status", 0))
        if self.now.get("deleted"):
            return None
        conditions = self.now.get("conditions", [])
        return bodies.job(JOB, conditions=conditions, **({} if conditions else {"active": 1}))

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        if path.endswith("/events"):
            return [bodies.event(**each) for each in self.now.get("events", ())]
        return [pod_of_row(each) for each in self.now.get("pods", ())]

    def log(
        self, namespace: str, pod: str, container: str, *, follow: bool = False, since: str = "", tail: int | None = None
    ) -> Iterator[str]:
        yield from (line for line in self.lines if line[:19] >= since[:19])


def followed(row: Mapping[str, Any]) -> tuple[End, list[str], list[str]]:
    """The end, what was shown, and what was said. Its clock goes on by what it sleeps."""
    told = Told()
    is_group = row.get("group", False)
    follower = ClusterFollower(
        ScriptedCluster(row["looks"], row.get("log", ()), group=is_group),
        "jobs",
        JOB,
        kind=GROUP if is_group else JOB_KIND,
        limit_seconds=row.get("limit_seconds"),
        **told.arguments,
    )
    return follower.follow(), told.shown, told.said


@pytest.mark.parametrize("name", CLUSTER_ROWS["rows"])
def test_a_job_on_a_cluster_is_followed_as_its_row_says(name: str) -> None:
    row = CLUSTER_ROWS["rows"][name]
    if "raises" in row:
        with pytest.raises(ClusterError, match=row["raises"]):
            followed(row)
        return
    end, shown, said = followed(row)
    assert shown == row.get("shown", shown)
    assert end.lines == len(shown)
    assert said == row.get("said", said)
    assert len(said) == row.get("said_count", len(said))
    assert [each for each in row.get("says", ()) if each not in said] == [], said
    assert "says_not" not in row or row["says_not"] not in "\n".join(said)
    assert row.get("hopeless", "") in end.hopeless
    assert bool(end.hopeless) == ("hopeless" in row)
    assert row.get("fix", "") in end.fix
    assert end.is_late == row.get("late", False)
    assert [pod.name for pod in end.pods] == row.get("pods", [pod.name for pod in end.pods])
    if "outcome" in row:
        kind = GROUP if row.get("group") else JOB_KIND
        found = end.job and kind.outcome(end.job, end.pods, 2)
        # pyrefly: ignore[missing-attribute]
        assert (None if found is None else [found.code, found.words, found.why]) == row["outcome"]


def test_a_stream_that_breaks_off_is_read_on_and_no_line_comes_twice() -> None:
    lines = [f"2026-11-22T10:00:00.{fraction}Z line {index}" for index, fraction in enumerate(("5", "51", "51", "6"))]
    shown: list[str] = []

    class Breaking:
        def __init__(self) -> None:
            self.asked: list[str] = []

        def log(self, namespace: str, pod: str, container: str, *, since: str = "", **_: Any) -> Iterator[str]:
            self.asked.append(since)
            yield from lines[: len(self.asked) + 1]
            if len(self.asked) < 3:
                raise ClusterError("broke off")

    api = Breaking()
    log = PodLog(api, "jobs", "p", "main", shown.append)
    for _ in range(3):
        log.finish(0)
    assert shown == ["line 0", "line 1", "line 2", "line 3"]
    assert api.asked == ["", "2026-11-22T10:00:00Z", "2026-11-22T10:00:00Z"]


def test_a_run_costs_its_node_while_it_ran_there() -> None:
    end, _, _ = followed({"looks": CLUSTER_ROWS["rows"]["it says what it waits for, shows its log and ends"]["looks"][-1:]})
    prices = {name: node_price(node) for name, node in end.nodes.items()}
    use = outcome.use_of(end.pods, prices, NOW)
    assert use.seconds == 120
    assert use.price is not None
    assert use.usd == use.price.usd_hour * 120 / 3600
    assert "2.0 minutes, 0.02 USD for its node at " in outcome.summary(use, NOW.date())
    assert outcome.summary(outcome.use_of(end.pods, {}, NOW), NOW.date()) == "2.0 minutes, cost isn't known"
    assert outcome.summary(outcome.use_of([], {}, NOW), NOW.date()) == "nothing ran"
