"""What preflight asks of a subscription for clusters: vCPUs of pools and system pools, and the feature that InfiniBand needs."""

from pathlib import Path

import pytest

from azure_gpu.catalog.quotas import CountedUse, Limit, RegionLimits, compute_problems
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu_operations.preflight import answers, features
from azure_gpu_operations.preflight.fetching import Outcome
from azure_gpu_operations.preflight.lists import ListKey, ListKind
from azure_gpu_operations.preflight.rows import Answer
from tests.support.embedded import EmbeddedAzure
from tests.support.preflight import Run

T4 = "Standard NCASv3_T4 Family"
STACK = """\
config:
  azure-gpu:team: tests
  azure-gpu:location: eastus
  azure-gpu:foundation: {resource_group: create, identity: create, registry: create}
  azure-gpu:clusters:
    gpu:
      gpu_pools:
        t4: {size: Standard_NC4as_T4_v3, max_nodes: 3}
        big: {size: Standard_ND96asr_v4, max_nodes: 2, features: [AKSInfinibandSupport]}
      expires_after: "2999-01-01"
"""


def pool(nodes: int = 2, spot: bool = False) -> SizeUse:
    return SizeUse(Service.AKS, "Standard_NC4as_T4_v3", "eastus", "clusters.gpu.gpu_pools.t4.size", "location", nodes, spot)


SYSTEM = CountedUse(
    SizeUse(Service.AKS, "Standard_D4s_v5", "eastus", "clusters.gpu.system_pool.size", "location"), "standardDSv5Family", 4
)
LIMITS = RegionLimits("eastus", (Limit(T4, 8), Limit("standardDSv5Family", 4)), Limit("cores", 12), Limit("spot", 0))


def test_the_nodes_that_a_pool_may_have_count_with_those_of_the_system_pool() -> None:
    assert compute_problems([pool()], [LIMITS], beside=[SYSTEM]) == []
    (problem,) = compute_problems([pool()], [LIMITS._replace(total=Limit("cores", 11))], beside=[SYSTEM])
    assert problem.message.startswith(
        "12 vCPU of all families together in eastus are requested together with clusters.gpu.system"
    )
    (problem,) = compute_problems([pool()], [LIMITS], beside=[SYSTEM._replace(vcpus=8)])[:1]
    assert problem.path == "clusters.gpu.system_pool.size"


def test_a_cluster_of_a_system_pool_alone_is_asked_about_too() -> None:
    outcomes = {ListKey(ListKind.COMPUTE_QUOTAS, "eastus"): Outcome(LIMITS)}
    (row,) = answers.quota_rows(outcomes, [], beside=[SYSTEM])
    assert (row.subject, row.answer) == ("clusters.gpu.system_pool.size", Answer.OK)
    missing = {ListKey(ListKind.COMPUTE_QUOTAS, "eastus"): Outcome(missing="timed out")}
    (row,) = answers.quota_rows(missing, [], beside=[SYSTEM])
    assert row.answer is Answer.UNKNOWN


@pytest.mark.parametrize(
    ("state", "answer"),
    [("Registered", Answer.OK), ("NotRegistered", Answer.NOT_REGISTERED), (None, Answer.UNKNOWN)],
    ids=["registered", "not registered", "not known"],
)
def test_a_pool_with_infiniband_needs_a_feature(state: str | None, answer: Answer) -> None:
    big = pool()._replace(size="Standard_ND96asr_v4")
    on_batch = big._replace(service=Service.BATCH)
    assert features.needing([pool(), big, on_batch]) == [big]
    (row,) = features.rows([big], {ListKey(ListKind.FEATURES): Outcome(state)})
    assert row.answer is answer


def test_preflight_of_a_stack_with_a_cluster_asks_azure_about_all_of_it(
    connected: EmbeddedAzure, preflight: Run, tmp_path: Path
) -> None:
    (tmp_path / "Pulumi.with-aks.yaml").write_text(STACK)
    connected.fault("provider", name="Microsoft.ContainerService/AKSInfinibandSupport", registration="NotRegistered")
    code, report = preflight("--stack", "with-aks", "--config-folder", str(tmp_path))
    assert code == 1
    by_check = {(row["subject"], row["check"]): row for row in report["rows"]}
    assert by_check["Microsoft.ContainerService", "registration"]["answer"] == "ok"
    flag = by_check["clusters.gpu.gpu_pools.big.size", "feature AKSInfinibandSupport"]
    assert flag["answer"] == "not registered"
    assert "az feature register --namespace Microsoft.ContainerService --name AKSInfinibandSupport" in flag["fix"]
    quota = {subject for subject, check in by_check if check == "quota"}
    assert quota <= {"clusters.gpu.gpu_pools.t4.size", "clusters.gpu.gpu_pools.big.size", "clusters.gpu.system_pool.size"}
    assert quota
    assert by_check["clusters.gpu.gpu_pools.t4.size", "offer"]["answer"] == "ok"
