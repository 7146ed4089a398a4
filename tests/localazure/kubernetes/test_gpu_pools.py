"""Pools, GPUs and the autoscaler on a real control plane with its node agent: nodes come and go, and pods are really placed."""

from collections.abc import Iterator
from typing import Any

import pytest

from localazure.arm.errors import ArmError
from localazure.fault import Fault
from localazure.kubernetes.model import PoolShape
from tests.localazure.kubernetes import gpu_cluster
from tests.localazure.kubernetes.gpu_cluster import GpuCluster, device_plugin, pod
from tests.support.embedded import until
from tests.support.kubernetes import new_namespace

pytestmark = pytest.mark.slow  # a control plane of its own takes more than 5 s

T4 = "Standard_NC4as_T4_v3"
GPU_TAINT = {"key": "sku", "value": "gpu", "effect": "NoSchedule"}
QUICK = {"scan-interval": "1s", "scale-down-unneeded-time": "1s", "scale-down-delay-after-add": "1s"}
SHARED = "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: 4\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GpuCluster]:
    with gpu_cluster.running(tmp_path_factory.mktemp("gpus")) as running:
        yield running


@pytest.fixture
def namespace(cluster: GpuCluster) -> Iterator[str]:
    with new_namespace(cluster) as name:
        yield name


def apply(cluster: GpuCluster, name: str, count: int = 1, **shape: Any) -> list[str]:
    """The pool's nodes."""
    asked = PoolShape(name=name, vm_size=shape.pop("size", T4), count=count, taints=(GPU_TAINT,), **shape)
    cluster.do(cluster.pools.apply(cluster.key, asked))
    return [one["name"] for one in cluster.pools.nodes(cluster.key, name)]


def test_a_gpu_appears_while_a_plugin_runs_and_sharing_by_four_runs_four_jobs(cluster: GpuCluster, namespace: str) -> None:
    (node,) = apply(cluster, "shared")
    assert cluster.gpus(node) is None
    cluster.create(pod("early", namespace, nodeSelector={"agentpool": "shared"}))
    for body in device_plugin("shared", namespace, SHARED):
        cluster.create(body)
    until(lambda: cluster.gpus(node) == "4", "the GPU stands in the node four times")
    for number in range(4):
        cluster.create(pod(f"job-{number}", namespace, nodeSelector={"agentpool": "shared"}))

    def placed() -> bool:
        return sorted(cluster.phases(namespace).values()).count("Running") == 5  # the plugin's pod and four more

    until(placed, "four of the five pods run")
    waiting = [name for name, phase in cluster.phases(namespace).items() if phase == "Pending"]
    assert len(waiting) == 1
    cluster.kubectl("delete", "daemonset", "-n", namespace, "plugin-shared")
    until(lambda: cluster.gpus(node) == "0", "nothing is allocatable without the plugin")
    assert cluster.asked("get", "node", node)["status"]["capacity"]["nvidia.com/gpu"] == "4"
    cluster.do(cluster.pools.remove(cluster.key, "shared"))
    assert [one["metadata"]["name"] for one in cluster.items("nodes") if one["metadata"]["name"] == node] == []


def test_a_pending_pod_brings_a_node_from_zero_and_the_node_goes_when_nothing_needs_it(
    cluster: GpuCluster, namespace: str
) -> None:
    cluster.configure(autoscaler=QUICK)
    assert apply(cluster, "scaled", 0, autoscaling=True, max_count=2) == []
    for body in device_plugin("scaled", namespace):
        cluster.create(body)
    cluster.create(pod("wanted", namespace))
    cluster.create(pod("intolerant", namespace, tolerations=[]))
    until(lambda: cluster.phases(namespace).get("wanted") == "Running", "the pod runs on a new node")
    (node,) = cluster.pools.nodes(cluster.key, "scaled")
    vmss = node["name"][:-6]
    assert cluster.events(namespace, "TriggeredScaleUp") == [f"pod triggered scale-up: [{{{vmss} 0->1 (max: 2)}}]"]
    until(
        lambda: (
            "pod didn't trigger scale-up: 1 node(s) had untolerated taint {sku: gpu}"
            in cluster.events(namespace, "NotTriggerScaleUp")
        ),
        "the other pod is told why it waits",
    )
    assert cluster.phases(namespace)["intolerant"] == "Pending"
    cluster.kubectl("delete", "pod", "-n", namespace, "wanted")
    until(lambda: len(cluster.pools.nodes(cluster.key, "scaled")) == 0, "the node isn't needed any more")
    cluster.do(cluster.pools.remove(cluster.key, "scaled"))
    cluster.configure()


def test_a_pool_changes_its_size_labels_and_taints_in_place(cluster: GpuCluster, namespace: str) -> None:
    first = apply(cluster, "changed", 1)
    second = apply(cluster, "changed", 3, labels={"team": "a"})
    assert second[0] == first[0]
    node = cluster.asked("get", "node", first[0])
    assert node["metadata"]["labels"]["team"] == "a"
    cluster.create(pod("moved", namespace, 0, nodeName=second[2]))
    until(lambda: cluster.phases(namespace) == {"moved": "Running"}, "the pod runs")
    assert apply(cluster, "changed", 2, labels={"team": "b"}) == second[:2]
    assert cluster.phases(namespace) == {}  # evicted with its node, and nothing makes it anew
    assert apply(cluster, "changed", 1) == second[:1]
    later = apply(cluster, "changed", 2)
    assert later[0] == second[0]
    assert later[1] not in second  # no name is given twice
    cluster.do(cluster.pools.remove(cluster.key, "changed"))


def test_a_quota_refuses_nodes_and_makes_the_autoscaler_wait(cluster: GpuCluster, namespace: str) -> None:
    family = Fault(kind="quota", service="compute", location="westeurope", name="Standard NCASv3_T4 Family", limit=8)
    cluster.deviations.faults = [family]
    try:
        with pytest.raises(ArmError) as caught:
            apply(cluster, "large", 3)
        assert caught.value.code == "ErrCode_InsufficientVCPUQuota"
        assert "Insufficient vcpu quota requested 12, remaining 8 for family Standard NCASv3_T4 Family" in caught.value.message
        family.limit = 0
        apply(cluster, "large", 0, autoscaling=True, max_count=2)
        cluster.create(pod("wanted", namespace))
        until(
            lambda: (
                "pod didn't trigger scale-up: 1 in backoff after failed scale-up"
                in cluster.events(namespace, "NotTriggerScaleUp")
            ),
            "the pod is told that the scale-up failed",
        )
        assert len(cluster.pools.nodes(cluster.key, "large")) == 0
    finally:
        cluster.deviations.faults = []
        cluster.do(cluster.pools.remove(cluster.key, "large"))


def test_another_server_knows_the_pools_and_goes_on_scaling(cluster: GpuCluster, namespace: str) -> None:
    nodes = apply(cluster, "kept", 1, autoscaling=True, max_count=2)
    cluster.restart_pools()
    assert [one["name"] for one in cluster.pools.nodes(cluster.key, "kept")] == nodes
    for body in device_plugin("kept", namespace):
        cluster.create(body)
    for number in range(2):
        cluster.create(pod(f"job-{number}", namespace))
    until(lambda: len(cluster.pools.nodes(cluster.key, "kept")) == 2, "a second node has come")
    cluster.do(cluster.pools.pause(cluster.key))
    until(lambda: cluster.items("nodes") == [], "a stopped cluster has no nodes")
    cluster.do(cluster.pools.resume(cluster.key))
    assert len(cluster.items("nodes")) == 2
    cluster.do(cluster.pools.remove(cluster.key, "kept"))
