"""Bodies of Kubernetes and ARM, and messages of the scheduler, that no row of `explained`, `followed` and `placed.yaml` has."""

import pytest

from azure_gpu_operations.clusters import scheduling
from azure_gpu_operations.clusters.arm_facts import cluster_of
from azure_gpu_operations.clusters.objects import Taint, events_of, pod_of, taint_of
from tests.operations import kubernetes_bodies as bodies


def test_a_pod_that_waits_has_the_schedulers_message_and_the_gpus_it_asks_for() -> None:
    found = pod_of(
        bodies.pod(unschedulable="0/1 nodes are available: 1 Insufficient nvidia.com/gpu.", limits={"nvidia.com/gpu": "2"})
    )
    assert found.unschedulable.startswith("0/1 nodes")
    assert found.gpus == {"nvidia.com/gpu": 2}
    assert found.job == "run-x"


def test_a_pod_taken_away_says_why() -> None:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByPodGC",
        "message": "PodGC: node no longer exists",
    }
    found = pod_of(bodies.pod(phase="Failed", node="n", status={"conditions": [condition]}))
    assert found.disruption == "DeletionByPodGC: PodGC: node no longer exists"


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        (bodies.GPU_TOLERATION, True),
        ({"key": "sku", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "sku", "value": "cpu"}, False),
        ({"key": "sku", "value": "gpu", "effect": "NoExecute"}, False),
        ({"key": "nvidia.com/gpu", "operator": "Exists"}, False),
    ],
    ids=["equal", "exists", "everything", "other value", "other effect", "other key"],
)
def test_tolerations_count_as_the_scheduler_counts_them(toleration: dict[str, str], tolerates: bool) -> None:
    assert pod_of(bodies.pod(tolerations=[toleration])).tolerates(Taint("sku", "gpu", "NoSchedule")) is tolerates


def test_events_come_in_the_order_in_which_they_were_seen_last() -> None:
    found = events_of(
        [bodies.event("Pulling", "b", at="2026-11-22T10:00:31Z"), bodies.event("Scheduled", "a", at="2026-11-22T10:00:30Z")]
    )
    assert [each.reason for each in found] == ["Scheduled", "Pulling"]


@pytest.mark.parametrize(
    ("text", "taint"),
    [
        ("sku=gpu:NoSchedule", Taint("sku", "gpu", "NoSchedule")),
        ("alone:NoExecute", Taint("alone", "", "NoExecute")),
        ("x", None),
    ],
    ids=["with a value", "without one", "none"],
)
def test_a_taint_is_read_as_arm_writes_it(text: str, taint: Taint | None) -> None:
    assert taint_of(text) == taint


# The messages of Kubernetes 1.36 (FitError, taint_toleration.go) and of those before.
def test_the_schedulers_message_is_taken_apart() -> None:
    now = (
        "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) had untolerated taint(s). no new claims to "
        "deallocate, preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not "
        "helpful for scheduling."
    )
    assert [(each.count, each.missing, each.is_taint) for each in scheduling.reasons(now)] == [
        (1, "nvidia.com/gpu", False),
        (2, "", True),
    ]
    before = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {sku: gpu}. preemption: 0/2 nodes"
    assert [each.taint for each in scheduling.reasons(before)] == [None, Taint("sku", "gpu", "")]
    mixed = scheduling.reasons("0/1 nodes are available: 1 Insufficient nvidia.com/mig-1g.5gb. preemption: 0/1 nodes")
    assert [each.missing for each in mixed] == ["nvidia.com/mig-1g.5gb"]


def test_a_cluster_says_whether_it_is_stopped_and_how_one_gets_in() -> None:
    properties = {
        "powerState": {"code": "Stopped"},
        "aadProfile": {"managed": True},
        "disableLocalAccounts": True,
        "apiServerAccessProfile": {"enablePrivateCluster": True},
    }
    found = cluster_of({"name": "aks", "id": "/x", "sku": {"tier": "Standard"}, "properties": properties})
    assert (found.is_stopped, found.has_entra, found.local_accounts, found.is_private) == (True, True, False, True)
    assert found.tier == "Standard"
