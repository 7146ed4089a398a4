"""What a stack holds on clusters that are gone or stopped, and what is forgotten of it."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from azure_gpu_operations.clusters import dead

GROUP = "urn:pulumi:dev::azure-gpu::azuregpu:index:GpuCluster"
PROVIDER = f"{GROUP}$pulumi:providers:kubernetes::gpu-kubernetes"
JOB = f"{GROUP}$kubernetes:batch/v1:Job::train"
NAMESPACE = f"{GROUP}$kubernetes:core/v1:Namespace::jobs"
CLUSTER = f"{GROUP}$azure-native:containerservice:ManagedCluster::gpu-cluster"
POOL = f"{GROUP}$azure-native:containerservice:AgentPool::gpu-pool-t4"
ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/aks"
EDGE = "urn:pulumi:dev::azure-gpu::azuregpu:index:EdgeSharing$pulumi:providers:kubernetes::box-kubernetes"
EDGE_JOB = "urn:pulumi:dev::azure-gpu::azuregpu:index:EdgeSharing$kubernetes:batch/v1:Job::edge-job"


def deployment(*, existing: bool = False) -> dict[str, Any]:
    cluster = {"urn": CLUSTER, "type": "azure-native:containerservice:ManagedCluster", "id": ID.replace("aks", "AKS")}
    return {
        "resources": [
            {"urn": "urn:azure", "type": "pulumi:providers:azure-native", "inputs": {"subscriptionId": "s"}},
            {**cluster, "external": existing},
            {"urn": POOL, "type": "azure-native:containerservice:AgentPool", "id": f"{ID}/agentPools/t4"},
            {"urn": PROVIDER, "type": "pulumi:providers:kubernetes", "id": "p1", "inputs": {"clusterIdentifier": ID}},
            {"urn": NAMESPACE, "type": "kubernetes:core/v1:Namespace", "provider": f"{PROVIDER}::p1"},
            {"urn": JOB, "type": "kubernetes:batch/v1:Job", "provider": f"{PROVIDER}::p1", "dependencies": [NAMESPACE]},
            {"urn": EDGE, "type": "pulumi:providers:kubernetes", "id": "p2", "inputs": {"clusterIdentifier": "https://box:6443"}},
            {"urn": EDGE_JOB, "type": "kubernetes:batch/v1:Job", "provider": f"{EDGE}::p2", "dependencies": [JOB, CLUSTER]},
        ],
        "pending_operations": [{"type": "creating", "resource": {"urn": JOB}}],
    }


class HeldStack:
    """A stack whose state is a deployment."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found
        self.refreshed: list[str] = []

    def deployment(self) -> dict[str, Any]:
        return self.found

    def edit(self, change: Callable[[Mapping[str, Any]], dict[str, Any]]) -> None:
        self.found = change(self.found)

    def refresh(self, urns: Any) -> None:
        self.refreshed = list(urns)

    @property
    def urns(self) -> set[str]:
        return {each["urn"] for each in self.found["resources"]}


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What ARM says of the cluster."""
    said: dict[str, Any] = {"body": {"id": ID, "properties": {}}}

    class Arm:
        def __init__(self, connection: Any) -> None: ...

        def get(self, resource_id: str, api_version: str) -> Any:
            return said["body"]

        def close(self) -> None: ...

    monkeypatch.setattr(dead, "Arm", Arm)
    return said


def test_objects_are_known_by_the_provider_of_their_cluster() -> None:
    (found,) = dead.held(deployment())
    assert (found.cluster_id, found.objects, found.is_own) == (ID, (NAMESPACE, JOB), True)
    (found,) = dead.held(deployment(existing=True))
    assert found.is_own is False


def test_on_the_way_down_an_existing_cluster_that_is_gone_takes_its_objects_along(azure: dict[str, Any]) -> None:
    azure.update(body=None)
    stack: Any = HeldStack(deployment(existing=True))
    lines: list[str] = []
    dead.forget_gone_existing(stack, stack.deployment(), lines.append)
    assert lines == ["the cluster aks isn't in Azure any more: removed 2 objects on it from the state"]
    assert stack.urns == {"urn:azure", CLUSTER, POOL, PROVIDER, EDGE, EDGE_JOB}
    (job,) = (each for each in stack.found["resources"] if each["urn"] == EDGE_JOB)
    assert job["dependencies"] == [CLUSTER]
    assert stack.found["pending_operations"] == []


@pytest.mark.parametrize("body", [{"properties": {}}, {"properties": {"powerState": {"code": "Stopped"}}}], ids=["up", "stopped"])
def test_on_the_way_down_an_existing_cluster_keeps_what_is_on_it(azure: dict[str, Any], body: Any) -> None:
    azure.update(body=body)
    stack: Any = HeldStack(deployment(existing=True))
    dead.forget_gone_existing(stack, stack.deployment(), print)
    assert stack.found == deployment(existing=True)


def test_on_the_way_down_objects_on_the_stacks_own_cluster_are_left_to_the_engine(azure: dict[str, Any]) -> None:
    azure.update(body=None)
    stack: Any = HeldStack(deployment())
    dead.forget_gone_existing(stack, stack.deployment(), print)
    assert stack.found == deployment()


def test_before_an_update_a_cluster_that_is_gone_is_read_anew_with_its_pools(azure: dict[str, Any]) -> None:
    azure.update(body=None)
    stack: Any = HeldStack(deployment())
    lines: list[str] = []
    dead.forget_gone(stack, stack.deployment(), lines.append)
    assert stack.refreshed == [CLUSTER, POOL]
    assert JOB not in stack.urns


def test_before_an_update_a_stopped_cluster_is_told_and_nothing_is_forgotten(azure: dict[str, Any]) -> None:
    azure.update(body={"properties": {"powerState": {"code": "Stopped"}}})
    stack: Any = HeldStack(deployment())
    lines: list[str] = []
    dead.forget_gone(stack, stack.deployment(), lines.append)
    assert lines == [f"the cluster aks is stopped, so its objects can't be compared; az aks start --ids {ID}"]
    assert stack.found == deployment()


@pytest.mark.parametrize(("within", "forgets"), [((CLUSTER, POOL, PROVIDER, NAMESPACE, JOB), True), ((EDGE,), False)])
def test_where_parts_alone_are_destroyed_only_their_clusters_are_asked(
    within: tuple[str, ...], forgets: bool, azure: dict[str, Any]
) -> None:
    stack: Any = HeldStack(deployment(existing=True))
    azure.update(body=None)
    dead.forget_gone_existing(stack, stack.deployment(), print, within=within)
    assert (JOB not in stack.urns) == forgets
