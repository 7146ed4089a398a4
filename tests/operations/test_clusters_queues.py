"""Queues of a cluster: why a group waits, and that what its queue never has is refused."""

from typing import Any

import pytest

from azure_gpu_operations.clusters import queues
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import JobSeen
from azure_gpu_operations.explain.cluster_facts import JobCase
from azure_gpu_operations.explain.cluster_rules import explain_job
from azure_gpu_operations.explain.facts import Cause

GPU = "nvidia.com/gpu"
WAITS = "couldn't assign flavors to pod set workers: insufficient unused quota for nvidia.com/gpu in flavor t4, 1 more needed"


def _queue(name: str, gpus: int, cohort: str = "t4", borrow: int | None = None) -> dict[str, Any]:
    own = {"name": GPU, "nominalQuota": str(gpus), **({"borrowingLimit": str(borrow)} if borrow is not None else {})}
    flavors = [{"name": "t4", "resources": [own, {"name": "cpu", "nominalQuota": "1M"}]}]
    return {"metadata": {"name": name}, "spec": {"cohort": cohort, "resourceGroups": [{"flavors": flavors}]}}


def _workload(owner: str, reserved: str, message: str = "") -> dict[str, Any]:
    condition = {"type": "QuotaReserved", "status": reserved, "message": message}
    return {"metadata": {"ownerReferences": [{"name": owner}]}, "status": {"conditions": [condition]}}


class Cluster:
    """What is there, by the end of its path."""

    def __init__(self, *, refuses: int = 0, **there: list[dict[str, Any]]) -> None:
        self._there, self._refuses = there, refuses

    def get(self, path: str) -> dict[str, Any] | None:
        kind, _, name = path.rpartition("/")
        return next((each for each in self.items(kind) if each["metadata"]["name"] == name), None)

    def items(self, path: str, **_: str) -> list[dict[str, Any]]:
        if self._refuses:
            raise ClusterError("no", self._refuses)
        return self._there.get(path.rpartition("/")[2], [])


LOCAL = {"metadata": {"name": "vision"}, "spec": {"clusterQueue": "vision"}}
SHARED = [_queue("vision", 2), _queue("speech", 3), _queue("elsewhere", 8, "a100")]


def test_why_a_group_waits_is_what_kueue_says_of_it_alone() -> None:
    cluster = Cluster(
        workloads=[_workload("other", "False", "no"), _workload("mine", "False", WAITS), _workload("in", "True", "ok")]
    )
    assert queues.held(cluster, "jobs", "mine") == WAITS
    assert queues.held(cluster, "jobs", "in") == ""
    assert queues.held(cluster, "jobs", "unknown") == ""
    assert queues.held(Cluster(refuses=404), "jobs", "mine") == ""


@pytest.mark.parametrize(
    ("spec", "most"),
    [
        (_queue("vision", 2), 5),
        (_queue("vision", 2, borrow=1), 3),
        (_queue("vision", 2, borrow=0), 2),
        (_queue("vision", 2, ""), 2),
    ],
    ids=["all", "some", "none", "alone"],
)
def test_a_queue_has_its_own_and_what_it_may_borrow(spec: dict[str, Any], most: int) -> None:
    cluster = Cluster(localqueues=[LOCAL], clusterqueues=[spec, *SHARED[1:]])
    assert queues.problems(cluster, "jobs", "vision", GPU, most) == []
    (problem,) = queues.problems(cluster, "jobs", "vision", GPU, most + 1)
    assert (problem.path, problem.value, problem.allowed) == ("--nodes", most + 1, f"at most {most}")


def test_a_queue_that_is_not_there_is_named_beside_those_that_are() -> None:
    (problem,) = queues.problems(Cluster(localqueues=[LOCAL]), "jobs", "other", GPU, 1)
    assert (problem.path, problem.allowed) == ("--queue", "vision")


def test_whoever_may_not_read_queues_is_not_kept_from_starting() -> None:
    assert queues.problems(Cluster(refuses=403), "jobs", "vision", GPU, 99) == []


def test_explain_says_for_what_a_group_waits() -> None:
    found = explain_job(JobCase(JobSeen("train", "jobs", is_suspended=True), held=WAITS))
    assert found.cause is Cause.QUOTA
    assert found.evidence == (WAITS,)
    assert explain_job(JobCase(JobSeen("train", "jobs", is_suspended=True))).cause is Cause.STARTING
