"""What a cluster's control plane and nodes are told, and what becomes of one that fails or is cut off. The rest: `answers`."""

import asyncio
import base64
from typing import Any

import pytest

from localazure.kinds.managed_clusters import ManagedClusters
from tests.support.managed_clusters import CLUSTER, GROUP, GROUPS, SYSTEM, ArmHarness, cluster, pool, refusal

KEY = CLUSTER.lower()
T4 = f"{CLUSTER}/agentPools/t4"
NODES = f"{GROUP.rsplit('/', 1)[0]}/MC_lab_gpu_westeurope"
ENTRA = {"managed": True, "enableAzureRBAC": True}


@pytest.fixture
def made(arm: ArmHarness) -> ArmHarness:
    arm.succeeded(arm.put(CLUSTER, cluster()))
    return arm


def properties(arm: ArmHarness, path: str = CLUSTER) -> dict[str, Any]:
    return arm.get(path).json()["properties"]


def pools(arm: ArmHarness) -> list[str]:
    return [each["name"] for each in properties(arm)["agentPoolProfiles"]]


def kubeconfig(arm: ArmHarness, action: str, **query: str) -> str:
    (answered,) = arm.post(f"{CLUSTER}/{action}", **query).json()["kubeconfigs"]
    return base64.b64decode(answered["value"]).decode()


def test_a_cluster_is_creating_until_its_control_plane_and_its_pools_are_there(arm: ArmHarness) -> None:
    arm.written.wait = asyncio.Event()
    answer = arm.put(CLUSTER, cluster())
    assert answer.status_code == 201
    first = answer.json()
    assert first["properties"]["provisioningState"] == "Creating"
    # Test_KubernetesConfiguration_Extension_20230501_CRUD (2026-03-20): names and versions are there before the cluster is
    assert {"fqdn", "azurePortalFQDN", "currentKubernetesVersion", "resourceUID"} <= set(first["properties"])
    assert {"currentOrchestratorVersion", "nodeImageVersion"} <= set(first["properties"]["agentPoolProfiles"][0])
    assert first["identity"]["principalId"]
    assert [each["name"] for each in answer.json()["properties"]["agentPoolProfiles"]] == ["system"]
    assert arm.get(f"{CLUSTER}/agentPools/system").json()["properties"]["provisioningState"] == "Creating"
    assert refusal(arm.put(CLUSTER, cluster()))[:2] == (409, "OperationNotAllowed")
    arm.written.wait.set()
    arm.succeeded(answer)
    assert [told[0] for told in arm.written.told] == ["apply", "configure", "pool"]
    found = properties(arm)
    assert found["provisioningState"] == "Succeeded"
    assert found["powerState"] == {"code": "Running"}
    assert found["agentPoolProfiles"][0]["provisioningState"] == "Succeeded"


def test_a_pool_waits_for_a_cluster_that_is_being_changed(made: ArmHarness) -> None:
    made.written.wait = asyncio.Event()
    changing = made.put(CLUSTER, cluster(autoUpgradeProfile={"upgradeChannel": "patch"}))
    # Azure/terraform-azurerm-avm-ptn-aks-production pull request 25
    assert refusal(made.put(T4, pool())) == (
        409,
        "OperationNotAllowed",
        "Operation is not allowed: Another operation (Updating) is in progress, please wait for it to finish before starting a "
        "new operation. See https://aka.ms/aks-pending-operation for more details",
    )
    made.written.wait.set()
    made.succeeded(changing)
    made.succeeded(made.put(T4, pool()))


def test_deleting_its_group_ends_everything_once_and_takes_the_nodes_group_along(made: ArmHarness) -> None:
    made.succeeded(made.put(T4, pool()))
    told = len(made.written.told)
    answer = made.delete(GROUP, GROUPS)
    answer.headers["azure-asyncoperation"] = answer.headers["location"].replace("operationResults", "operationStatuses")
    made.succeeded(answer)
    assert made.written.told[told:] == [("forget", KEY), ("remove", KEY)]
    assert made.get(NODES, GROUPS).status_code == 404


def test_a_pool_without_nodes_fails_the_cluster_and_the_next_put_completes_it(arm: ArmHarness) -> None:
    arm.written.refused = "system"
    ended = arm.ended(arm.put(CLUSTER, cluster()))
    assert (ended["status"], ended["error"]["code"]) == ("Failed", "ErrCode_InsufficientVCPUQuota")
    found = properties(arm)
    assert found["provisioningState"] == found["agentPoolProfiles"][0]["provisioningState"] == "Failed"
    arm.written.refused = ""
    arm.succeeded(arm.put(CLUSTER, cluster()))
    assert properties(arm)["agentPoolProfiles"][0]["provisioningState"] == "Succeeded"


def test_creation_that_was_cut_off_is_taken_up_by_the_next_server(arm: ArmHarness) -> None:
    arm.written.wait = asyncio.Event()
    answer = arm.put(CLUSTER, cluster(agentPoolProfiles=[SYSTEM, {**SYSTEM, "name": "second"}]))
    arm.run(arm.arm.operations.stop())
    arm.written.wait = None
    arm.run(arm.arm.operations.resume())
    arm.succeeded(answer)
    assert pools(arm) == ["second", "system"]
    assert {each["provisioningState"] for each in properties(arm)["agentPoolProfiles"]} == {"Succeeded"}


def test_stopping_that_was_cut_off_is_taken_up_too(made: ArmHarness) -> None:
    resource = made.store.get(CLUSTER)
    assert resource is not None
    made.run(ManagedClusters(made.aks).resume_action("stop", resource, made.services))
    assert properties(made)["powerState"] == {"code": "Stopped"}


def test_without_local_accounts_there_is_a_users_kubeconfig_alone(arm: ArmHarness) -> None:
    workload = {"workloadIdentity": {"enabled": True}}
    arm.succeeded(arm.put(CLUSTER, cluster(aadProfile=ENTRA, disableLocalAccounts=True, securityProfile=workload)))
    assert kubeconfig(arm, "listClusterUserCredential") == "user of gpu"
    assert kubeconfig(arm, "listClusterUserCredential", format="exec") == "user of gpu exec"
    shape = arm.written.shapes[KEY]
    assert (shape.entra, shape.azure_rbac, shape.workload_identity, shape.local_accounts) == (True, True, True, False)


def test_with_local_accounts_there_are_all_kubeconfigs(made: ArmHarness) -> None:
    assert kubeconfig(made, "listClusterAdminCredential") == "admin of gpu"
    assert kubeconfig(made, "listClusterMonitoringUserCredential") == "monitoring of gpu"
