"""Following a run on a cluster: what its pods wait for, their logs, when there is no hope, and how it ends. Each row of
`followed/cluster.yaml`."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.kubernetes.worker_group import ATTEMPT_LABEL, INDEX_LABEL
from azure_gpu_operations.batch.pool_cost import node_price
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.run.log_lines import PodLog
from azure_gpu_operations.run.on_cluster import outcome
from azure_gpu_operations.run.on_cluster.follow import End, Follower
from azure_gpu_operations.run.on_cluster.outcome import GROUP, JOB as JOB_KIND
from azure_gpu_operations.run.protocol import Output
from tests.operations import kubernetes_bodies as bodies

JOB = "run-x"
NOW = datetime(2026, 11, 22, 10, 5, tzinfo=UTC)
ROWS = yaml.load((Path(__file__).parent / "followed" / "cluster.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)["rows"]
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
    shown, said, time = list[str](), list[str](), [0.0]

    def sleep(seconds: float) -> None:
        time[0] += seconds

    is_group = row.get("group", False)
    follower = Follower(
        ScriptedCluster(row["looks"], row.get("log", ()), group=is_group),
        "jobs",
        JOB,
        Output(shown.append, shown.append, said.append),
        kind=GROUP if is_group else JOB_KIND,
        limit_seconds=row.get("limit_seconds"),
        sleep=sleep,
        clock=lambda: time[0],
    )
    return follower.follow(), shown, said


@pytest.mark.parametrize("name", ROWS)
def test_a_run_is_followed_as_its_row_says(name: str) -> None:
    row = ROWS[name]
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
    end, _, _ = followed({"looks": ROWS["it says what it waits for, shows its log and ends"]["looks"][-1:]})
    prices = {name: node_price(node) for name, node in end.nodes.items()}
    use = outcome.use_of(end.pods, prices, NOW)
    assert use.seconds == 120
    assert use.price is not None
    assert use.usd == use.price.usd_hour * 120 / 3600
    assert "2.0 minutes, 0.02 USD for its node at " in outcome.summary(use, NOW.date())
    assert outcome.summary(outcome.use_of(end.pods, {}, NOW), NOW.date()) == "2.0 minutes, cost isn't known"
    assert outcome.summary(outcome.use_of([], {}, NOW), NOW.date()) == "nothing ran"
