"""What a node of a pool is: resources that AKS leaves, names, labels and taints. Numbers are those of AKS and of real nodes."""

import pytest

from localazure.kubernetes.node_templates import cpu_reserved, machine, node_name, record, scale_set, template
from tests.localazure.kubernetes.gpu_world import CLUSTER, pool
from tests.support.tables import of_table


def test_a_t4_node_has_the_resources_that_a_real_one_shows() -> None:
    node = template(pool(max_pods=30), CLUSTER)
    assert node["capacity"] == {
        "cpu": "4",
        "ephemeral-storage": "129886128Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": "28736340Ki",
        "pods": "30",
    }
    assert node["allocatable"]["cpu"] == "3860m"
    assert node["allocatable"]["ephemeral-storage"] == "119703055564"


@pytest.mark.parametrize(
    ("cores", "reserved"),
    [(1, 60), (2, 100), (4, 140), (6, 160), (8, 180), (16, 260), (24, 340), (32, 420), (64, 740), (96, 1060)],
)
def test_the_processor_time_that_aks_keeps(cores: int, reserved: int) -> None:
    assert cpu_reserved(cores) == reserved


@pytest.mark.parametrize(
    ("pods", "kept_mb"), [(30, 650), (110, 2250), (250, 4294.967296)], ids=["30-pods", "110-pods", "quarter-of-the-memory"]
)
def test_the_memory_that_aks_keeps_is_by_the_number_of_pods_and_at_most_a_quarter(pods: int, kept_mb: float) -> None:
    node = template(pool(size="Standard_D4s_v5", max_pods=pods), CLUSTER)
    kib = [int(node[what]["memory"].removesuffix("Ki")) for what in ("capacity", "allocatable")]
    assert abs((kib[0] - kib[1]) * 1024 - kept_mb * 10**6 - 100 * 2**20) < 2048


@of_table("size", "vcpus", "memory", "architecture", "gpus")
def test_machines_are_known_by_the_catalog_or_their_names(
    size: str, vcpus: int, memory: int, architecture: str, gpus: int
) -> None:
    found = machine(size)
    assert (found.vcpus, found.memory_gib, found.architecture, found.gpus) == (vcpus, memory, architecture, gpus)


def test_names_are_as_aks_makes_them() -> None:
    assert scale_set(CLUSTER.key, pool()).startswith("aks-t4-")
    assert [node_name(CLUSTER.key, pool(), number)[-10:] for number in (0, 9, 10, 36)] == [
        "vmss000000",
        "vmss000009",
        "vmss00000a",
        "vmss000010",
    ]
    assert node_name(CLUSTER.key, pool("win", "Standard_D4s_v5", os_type="Windows"), 1) == "akswin000001"
    assert scale_set(CLUSTER.key, pool()) != scale_set(CLUSTER.key + "2", pool())


def test_labels_are_aks_own_over_the_pools() -> None:
    node = record(pool(labels={"team": "a", "agentpool": "forged"}, zones=("1", "2")), CLUSTER, 1, "now")
    assert (
        node["labels"].items()
        >= {
            "team": "a",
            "agentpool": "t4",
            "kubernetes.azure.com/agentpool": "t4",
            "kubernetes.azure.com/cluster": "MC_rg_aks_westeurope",
            "kubernetes.azure.com/mode": "user",
            "kubernetes.azure.com/role": "agent",
            "accelerator": "nvidia",
            "kubernetes.azure.com/accelerator": "nvidia",
            "kubernetes.io/hostname": node["name"],
            "node.kubernetes.io/instance-type": "Standard_NC4as_T4_v3",
            "topology.kubernetes.io/region": "westeurope",
            "topology.kubernetes.io/zone": "westeurope-2",
        }.items()
    )
    assert node["provider_id"].startswith("azure:///subscriptions/")
    assert node["provider_id"].endswith(f"/virtualMachineScaleSets/{node['vmss']}/virtualMachines/1")


@pytest.mark.parametrize(
    ("group", "label"),
    [
        (
            "MC_azure-gpu-tests-clusters_azure-gpu-tests-clusters-shared_eastus",
            "MC_azure-gpu-tests-clusters_azure-gpu-tests-clusters-shared_eas",
        ),
        (f"MC_{'a' * 59}_eastus", f"MC_{'a' * 59}z"),
    ],
    ids=["cut", "cut-at-a-separator"],
)
def test_a_long_node_groups_name_is_cut_to_a_label(group: str, label: str) -> None:
    assert len(label) == 63
    assert template(pool(), CLUSTER._replace(node_resource_group=group))["labels"]["kubernetes.azure.com/cluster"] == label


def test_spot_nodes_have_aks_own_label_and_taint_once() -> None:
    own = {"key": "kubernetes.azure.com/scalesetpriority", "value": "spot", "effect": "NoSchedule"}
    for taints in ((), (own,)):
        node = template(pool(spot=True, taints=({"key": "sku", "value": "gpu", "effect": "NoSchedule"}, *taints)), CLUSTER)
        assert node["labels"]["kubernetes.azure.com/scalesetpriority"] == "spot"
        assert [taint["key"] for taint in node["taints"]] == ["sku", "kubernetes.azure.com/scalesetpriority"]


def test_a_gpu_node_has_its_driver_unless_the_pool_asks_for_none() -> None:
    assert template(pool(), CLUSTER)["driver"] is True
    assert template(pool(gpu_driver=False), CLUSTER)["driver"] is False
    assert template(pool(size="Standard_ND96isr_MI300X_v5", gpu_driver=False), CLUSTER)["gpu_vendor"] == "amd"
    assert template(pool(size="Standard_D4s_v5"), CLUSTER)["driver"] is False
