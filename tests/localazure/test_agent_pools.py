"""Node pools of AKS beside their cluster: made, changed, scaled, stopped and taken away, each without touching the others."""

import asyncio
from typing import Any

import pytest

from localazure.fault import Fault
from tests.support.managed_clusters import CLUSTER, SYSTEM, ArmHarness, cluster, pool, refusal

KEY = CLUSTER.lower()
T4 = f"{CLUSTER}/agentPools/t4"
SIZE = "Standard_NC4as_T4_v3"
FAMILY = "Standard NCASv3_T4 Family"
SPOT_TAINT = "kubernetes.azure.com/scalesetpriority=spot:NoSchedule"


@pytest.fixture
def arm(arm: ArmHarness) -> ArmHarness:
    """With a cluster."""
    arm.succeeded(arm.put(CLUSTER, cluster()))
    return arm


def scaled(**changed: Any) -> dict[str, Any]:
    return pool(**{"enableAutoScaling": True, "minCount": 0, "maxCount": 4, "count": 0, **changed})


def properties(arm: ArmHarness, path: str = T4) -> dict[str, Any]:
    return arm.get(path).json()["properties"]


def test_a_pool_is_made_with_what_aks_decides(arm: ArmHarness) -> None:
    answer = arm.put(T4, pool(nodeTaints=["sku=gpu:NoSchedule"], nodeLabels={"azure-gpu/pool": "t4"}, availabilityZones=["1"]))
    assert answer.status_code == 201
    assert answer.json()["type"] == "Microsoft.ContainerService/managedClusters/agentPools"
    arm.succeeded(answer)
    found = properties(arm)
    assert found["gpuProfile"] == {"driver": "Install"}
    # This and the next: Test_AKS_ManagedCluster_20250801_CRUD (2026-01-24)
    assert found["upgradeSettings"] == {"maxSurge": "10%", "maxUnavailable": "0"}
    assert found["securityProfile"] == {"enableSecureBoot": False, "enableVTPM": False, "sshAccess": "LocalUser"}
    assert (found["type"], found["mode"], found["osDiskSizeGB"]) == ("VirtualMachineScaleSets", "User", 128)
    shape = arm.written.pools[KEY, "t4"]
    assert [tuple(taint) for taint in shape.taints] == [("sku", "gpu", "NoSchedule")]
    assert (dict(shape.labels), shape.zones, shape.gpu_driver, shape.spot) == ({"azure-gpu/pool": "t4"}, ("1",), True, False)
    assert shape.kubernetes_version == "1.35.0"


def test_a_spot_pool_has_the_label_and_the_taint_of_aks_once(arm: ArmHarness) -> None:
    body = pool(scaleSetPriority="Spot", nodeTaints=[SPOT_TAINT])
    for _ in range(2):
        arm.succeeded(arm.put(T4, body))
    found = properties(arm)
    assert found["nodeTaints"] == [SPOT_TAINT]
    assert found["nodeLabels"] == {"kubernetes.azure.com/scalesetpriority": "spot"}
    assert (found["scaleSetEvictionPolicy"], found["spotMaxPrice"]) == ("Delete", -1)
    assert "upgradeSettings" not in found
    assert arm.written.pools[KEY, "t4"].spot


def test_mig_and_a_pool_without_drivers_reach_the_nodes(arm: ArmHarness) -> None:
    arm.succeeded(arm.put(f"{CLUSTER}/agentPools/mig", pool(vmSize="Standard_NC24ads_A100_v4", gpuInstanceProfile="MIG1g")))
    arm.succeeded(arm.put(f"{CLUSTER}/agentPools/bare", pool(gpuProfile={"driver": "None"})))
    assert arm.written.pools[KEY, "mig"].mig_profile == "MIG1g"
    assert not arm.written.pools[KEY, "bare"].gpu_driver


def test_taints_labels_and_numbers_change_in_place(arm: ArmHarness) -> None:
    arm.succeeded(arm.put(T4, pool()))
    arm.succeeded(arm.put(T4, pool(count=2, nodeTaints=["sku=gpu:NoSchedule"], vmSize=SIZE.lower())))
    found = properties(arm)
    assert (found["count"], found["nodeTaints"]) == (2, ["sku=gpu:NoSchedule"])
    assert arm.written.told[-1] == ("pool", "t4", "2")


def test_a_pool_that_scales_by_itself_keeps_its_nodes_over_an_update(arm: ArmHarness) -> None:
    arm.succeeded(arm.put(T4, scaled()))
    arm.written.counts[KEY, "t4"] = 3  # the autoscaler was at work
    assert properties(arm)["count"] == 3
    arm.succeeded(arm.put(T4, scaled(nodeLabels={"a": "b"})))
    assert arm.written.told[-1] == ("pool", "t4", "3")
    arm.succeeded(arm.put(T4, scaled(maxCount=2)))
    assert properties(arm)["count"] == 2


def test_one_of_scale_sets_needs_no_count(arm: ArmHarness) -> None:
    """Azure/ARO-HCP pull request 3659."""
    silent = {"vmSize": SIZE, "type": "VirtualMachineScaleSets", "enableAutoScaling": True, "maxCount": 4}
    arm.succeeded(arm.put(T4, {"properties": {**silent, "minCount": 1}}))
    assert properties(arm)["count"] == 1
    arm.written.counts[KEY, "t4"] = 3
    arm.succeeded(arm.put(T4, {"properties": {**silent, "minCount": 0}}))
    assert properties(arm)["count"] == 3
    arm.succeeded(arm.put(T4, {"properties": {**silent, "enableAutoScaling": False, "maxCount": None}}))
    arm.succeeded(arm.put(T4, {"properties": {**silent, "minCount": 0, "maxCount": 2}}))
    assert properties(arm)["count"] == 2


def test_one_that_is_retired_meanwhile_can_still_be_scaled(arm: ArmHarness) -> None:
    old = pool(vmSize="Standard_NC6s_v3", tags={"as-of": "2025-01-15"})
    arm.succeeded(arm.put(T4, old))
    arm.succeeded(arm.put(T4, pool(vmSize="Standard_NC6s_v3", count=2)))
    assert properties(arm)["count"] == 2


def test_a_pool_is_upgraded_one_minor_version_at_a_time_behind_its_cluster(arm: ArmHarness) -> None:
    arm.succeeded(arm.put(T4, pool(orchestratorVersion="1.34")))
    assert properties(arm)["currentOrchestratorVersion"] == "1.34.3"
    profile = arm.get(f"{T4}/upgradeProfiles/default").json()["properties"]
    assert [each["kubernetesVersion"] for each in profile["upgrades"]] == ["1.35.0"]
    arm.succeeded(arm.put(T4, pool(orchestratorVersion="1.34")))  # what it has
    arm.succeeded(arm.put(T4, pool(orchestratorVersion="1.35.0")))
    assert properties(arm)["currentOrchestratorVersion"] == "1.35.0"
    assert refusal(arm.put(T4, pool(orchestratorVersion="1.34")))[1] == "OperationNotAllowed"


def test_a_system_pool_goes_once_there_is_another(arm: ArmHarness) -> None:
    system = f"{CLUSTER}/agentPools/system"
    arm.succeeded(arm.put(f"{CLUSTER}/agentPools/second", pool(mode="System", vmSize="Standard_D4s_v5")))
    arm.succeeded(arm.delete(system))
    assert ("remove", KEY, "system") in arm.written.told


def test_a_pool_goes_alone(arm: ArmHarness) -> None:
    arm.succeeded(arm.put(T4, pool()))
    told = len(arm.written.told)
    arm.succeeded(arm.delete(T4))
    assert arm.written.told[told:] == [("remove", KEY, "t4")]
    assert arm.get(T4).status_code == 404
    assert [each["name"] for each in properties(arm, CLUSTER)["agentPoolProfiles"]] == ["system"]


def test_a_stopped_pool_has_no_nodes_and_remembers_how_many_it_had(arm: ArmHarness) -> None:
    arm.succeeded(arm.put(T4, pool(count=2)))
    arm.succeeded(arm.put(T4, pool(count=2, powerState={"code": "Stopped"})))
    assert arm.written.told[-1] == ("pool", "t4", "0")
    assert (properties(arm)["powerState"], properties(arm)["count"]) == ({"code": "Stopped"}, 2)
    arm.succeeded(arm.put(T4, pool(count=2, powerState={"code": "Running"})))
    assert arm.written.told[-1] == ("pool", "t4", "2")


def test_more_vcpus_than_the_quota_are_refused_before_anything_is_made(arm: ArmHarness) -> None:
    faults = arm.services.deviations.faults
    faults.append(Fault(kind="quota", service="compute", location="westeurope", name=FAMILY, limit=8))
    arm.succeeded(arm.put(T4, pool()))
    status, code, message = refusal(arm.put(f"{CLUSTER}/agentPools/more", pool(count=2)))
    assert (status, code) == (400, "ErrCode_InsufficientVCPUQuota")
    assert message.startswith("Insufficient vcpu quota requested 8, remaining 4 for family")  # 1ChristianAlex/motordesk issue 14
    assert arm.get(f"{CLUSTER}/agentPools/more").status_code == 404
    profiles = [SYSTEM, {"name": "gpu", "vmSize": SIZE, "count": 2}]
    assert refusal(arm.put(CLUSTER.replace("/gpu", "/other"), cluster(agentPoolProfiles=profiles)))[1] == code
    arm.succeeded(arm.put(T4, pool(count=2)))


def test_a_size_that_is_withheld_from_the_subscription_is_refused(arm: ArmHarness) -> None:
    arm.succeeded(arm.put(T4, pool()))
    withheld = Fault(kind="restrict", name=SIZE, location="westeurope", reason="NotAvailableForSubscription")
    arm.services.deviations.faults.append(withheld)
    status, code, message = refusal(arm.put(f"{CLUSTER}/agentPools/more", pool()))
    assert (status, code) == (400, "BadRequest")
    assert message.startswith(f"The VM size of {SIZE} is not allowed in your subscription in location 'westeurope'.")
    arm.succeeded(arm.put(T4, pool(count=2)))  # what is there stays


def test_single_machines_are_listed_and_taken_away(arm: ArmHarness) -> None:
    arm.succeeded(arm.put(T4, pool(count=2)))
    assert [each["name"] for each in arm.get(f"{T4}/machines").json()["value"]] == ["aks-t4-0", "aks-t4-1"]
    arm.succeeded(arm.post(f"{T4}/deleteMachines", {"machineNames": ["aks-t4-1"]}))
    assert properties(arm)["count"] == 1


def test_a_new_node_image_is_that_of_the_day(arm: ArmHarness) -> None:
    arm.succeeded(arm.put(T4, pool(vmSize="Standard_D4s_v5", tags={"as-of": "2026-07-01"})))
    assert properties(arm)["nodeImageVersion"] == "AKSUbuntu-2404gen2containerd-202607.01.0"
    arm.succeeded(arm.post(f"{T4}/upgradeNodeImageVersion"))
    assert properties(arm)["nodeImageVersion"] == "AKSUbuntu-2404gen2containerd-202611.21.0"


def test_a_pool_waits_for_a_cluster_that_is_being_changed(arm: ArmHarness) -> None:
    arm.written.wait = asyncio.Event()
    changing = arm.put(CLUSTER, cluster(autoUpgradeProfile={"upgradeChannel": "patch"}))
    # Azure/terraform-azurerm-avm-ptn-aks-production pull request 25
    assert refusal(arm.put(T4, pool())) == (
        409,
        "OperationNotAllowed",
        "Operation is not allowed: Another operation (Updating) is in progress, please wait for it to finish before starting a "
        "new operation. See https://aka.ms/aks-pending-operation for more details",
    )
    arm.written.wait.set()
    arm.succeeded(changing)
    arm.succeeded(arm.put(T4, pool()))


def test_the_azure_clis_disk_of_0_gb_is_the_size_that_aks_chooses(arm: ArmHarness) -> None:
    disk = f"{CLUSTER}/agentPools/disk"
    arm.succeeded(arm.put(disk, pool(osDiskSizeGB=0)))
    assert arm.get(disk).json()["properties"]["osDiskSizeGB"] == 128
    arm.succeeded(arm.put(disk, pool(osDiskSizeGB=128)))
