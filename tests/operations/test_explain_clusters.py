"""What `explain` makes of AKS clusters and their pools, cause by cause."""

from typing import Any

from azure_gpu_operations.clusters.arm_facts import cluster_of, pool_of
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import node_of, pod_of
from azure_gpu_operations.explain import cluster_rules, report
from azure_gpu_operations.explain.cluster_facts import ClusterCase, PodCase, PodContext
from azure_gpu_operations.explain.facts import Cause, Facts, Kind, Refusal
from tests.operations import kubernetes_bodies as bodies

ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/aks"
QUOTA = Refusal("QuotaExceeded", "Operation could not be completed as it results in exceeding approved quota", operation="write")


def cluster(*nodes: dict[str, Any], pools: Any = None, pool: str = "", state: str = "Succeeded", **more: Any) -> ClusterCase:
    properties = {"provisioningState": state, "powerState": {"code": more.pop("power", "Running")}}
    facts = cluster_of({"name": "aks", "id": ID, "properties": {**properties, **more.pop("properties", {})}})
    there = tuple(map(pool_of, [bodies.pool()] if pools is None else pools))
    return ClusterCase("gpu", ID, facts, there, pool, tuple(map(node_of, nodes)), **more)


def cause(case: ClusterCase) -> Cause:
    return cluster_rules.explain(case).cause


def test_a_cluster_that_runs_says_what_its_nodes_offer() -> None:
    case = cluster(bodies.node(gpus={"nvidia.com/gpu": "4"}), bodies.node("b", gpus={"nvidia.com/gpu": "4"}))
    finding = cluster_rules.explain(case)
    assert finding.cause is Cause.HEALTHY
    assert "its nodes offer 8 of nvidia.com/gpu" in finding.what
    assert report.lines(case.as_facts(), finding)[0] == "gpu (cluster, Succeeded, 2 nodes): no failure"


def test_a_stopped_cluster_has_the_command_that_starts_it() -> None:
    finding = cluster_rules.explain(cluster(power="Stopped"))
    assert finding.cause is Cause.CLUSTER_STOPPED
    assert finding.fix == f"start it: az aks start --ids {ID}"


def test_a_cluster_that_is_not_there_is_told_by_arms_refusal() -> None:
    assert cause(ClusterCase("gpu", ID)) is Cause.NOT_THERE
    assert cause(ClusterCase("gpu", ID, refusals=(QUOTA,))) is Cause.QUOTA


def test_a_provider_that_is_not_registered_is_the_clusters_own_or_the_one_that_azure_names() -> None:
    unregistered = Refusal("MissingSubscriptionRegistration", "The subscription is not registered.", operation="write")
    fix = cluster_rules.explain(ClusterCase("gpu", ID, refusals=(unregistered,))).fix
    assert "--namespace Microsoft.ContainerService --wait" in fix
    named = unregistered._replace(message="The subscription is not registered to use namespace 'Microsoft.Compute'.")
    assert "--namespace Microsoft.Compute --wait" in cluster_rules.explain(ClusterCase("gpu", ID, refusals=(named,))).fix
    # Azure/azure-rest-api-specs issue 12060, of a diagnostic setting
    other = Refusal("Conflict", "The subscription 'a-b' is not registered to use microsoft.insights.", operation="write")
    assert "--namespace microsoft.insights --wait" in cluster_rules.explain(ClusterCase("gpu", ID, refusals=(other,))).fix


def test_a_pool_whose_last_change_failed_is_told_by_arms_refusal() -> None:
    failed = [bodies.pool(provisioningState="Failed")]
    finding = cluster_rules.explain(cluster(pools=failed, pool_refusals={"t4": (QUOTA,)}))
    assert finding.cause is Cause.QUOTA
    assert finding.what.startswith("pool t4: ")
    silent = cluster_rules.explain(cluster(pools=failed, pool="t4"))
    assert "the activity log has no reason" in silent.what


def test_a_pool_without_nodes_costs_nothing_and_is_no_failure() -> None:
    case = cluster(pools=[bodies.pool(count=0, enableAutoScaling=True, maxCount=2)], pool="t4")
    finding = cluster_rules.explain(case)
    assert finding.cause is Cause.HEALTHY
    assert "adds one when a pod requests it" in finding.what
    assert report.lines(case.as_facts(), finding)[0] == "gpu/t4 (pool of a cluster, Succeeded, 0 nodes): no failure"


def test_a_pool_that_is_not_there_is_said_so() -> None:
    assert cause(cluster(pool="gone")) is Cause.NOT_THERE


def test_a_stopped_pool_is_no_riddle() -> None:
    finding = cluster_rules.explain(cluster(pools=[bodies.pool(powerState={"code": "Stopped"})], pool="t4"))
    assert finding.cause is Cause.STOPPED
    assert "az aks nodepool start --nodepool-name t4 --cluster-name aks" in finding.fix


def test_nodes_with_gpus_and_without_a_plugin_are_found_before_anybody_asks_for_one() -> None:
    finding = cluster_rules.explain(cluster(bodies.node()))
    assert finding.cause is Cause.NO_PLUGIN
    assert "has GPUs, but no device plugin advertises them to Kubernetes" in finding.what


def test_a_node_that_is_not_ready_is_named() -> None:
    finding = cluster_rules.explain(cluster(bodies.node(ready=False, gpus={"nvidia.com/gpu": "1"})))
    assert finding.cause is Cause.NODE_NOT_READY
    assert finding.evidence == ("aks-t4-12345678-vmss000000: NodeStatusUnknown",)


def test_a_pod_that_waits_speaks_for_its_cluster() -> None:
    node = bodies.node(gpus={"nvidia.com/gpu": "1"}, taints=[bodies.GPU_TAINT])
    message = "0/1 nodes are available: 1 node(s) had untolerated taint(s). preemption: 0/1"
    around = PodContext((node_of(node),), (pool_of(bodies.pool()),))
    waiting = [
        PodCase(pod_of(bodies.pod(name, unschedulable=message, limits={"nvidia.com/gpu": "1"})), around=around)
        for name in ("a-1", "b-1")
    ]
    finding = cluster_rules.explain(cluster(node, waiting=tuple(waiting)))
    assert finding.cause is Cause.UNTOLERATED
    assert finding.what.startswith("pod jobs/a-1: nodes of every pool with GPUs have the taint sku=gpu:NoSchedule")
    assert finding.what.endswith("(and 1 more pod is blocked)")


def test_a_pod_on_another_pools_node_says_nothing_of_a_pool() -> None:
    node = bodies.node(gpus={"nvidia.com/gpu": "1"})
    other = bodies.node("aks-system-1", "system", "Standard_D4s_v5")
    failing = PodCase(pod_of(bodies.pod(node="aks-system-1", container=bodies.waiting("InvalidImageName", "no name"))))
    assert cause(cluster(node, other, waiting=(failing,), pool="t4")) is Cause.HEALTHY
    assert cause(cluster(node, other, waiting=(failing,))) is Cause.SETTINGS


def test_a_login_without_rights_is_told_apart_from_a_cluster_without_a_route() -> None:
    denied = cluster_rules.explain(cluster(silence="Forbidden: nodes is forbidden", denied=True))
    assert denied.cause is Cause.NO_RIGHTS
    assert "Azure Kubernetes Service RBAC Reader" in denied.fix
    private = {"apiServerAccessProfile": {"enablePrivateCluster": True}}
    silent = cluster_rules.explain(cluster(silence="the cluster at https://a doesn't answer", properties=private))
    assert silent.cause is Cause.UNREACHABLE
    assert silent.fix.startswith("it is private")


def test_an_edge_that_does_not_answer_is_explained_without_arm() -> None:
    facts = Facts("box", Kind.CLUSTER, "kubeconfig")
    finding = cluster_rules.unreachable(ClusterError("the cluster at https://box:6443 doesn't answer"), facts, is_private=False)
    assert finding.cause is Cause.UNREACHABLE
    assert report.exit_code(finding) == 1
