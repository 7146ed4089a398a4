"""The life of an AKS cluster in ARM: what it is made with, what it shows, how it is changed, stopped and deleted."""

import asyncio
import base64
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from localazure.kinds.managed_clusters import ManagedClusters
from tests.support.managed_clusters import CLUSTER, GROUP, GROUPS, SYSTEM, ArmHarness, cluster, pool, refusal

KEY = CLUSTER.lower()
T4 = f"{CLUSTER}/agentPools/t4"
NODES = f"{GROUP.rsplit('/', 1)[0]}/MC_lab_gpu_westeurope"
IDENTITIES = "2023-01-31"
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


def test_nodes_have_a_group_of_their_own_with_the_identity_that_pulls_images(made: ArmHarness) -> None:
    group = made.get(NODES, GROUPS).json()
    assert group["managedBy"] == CLUSTER
    assert group["tags"] == {"aks-managed-cluster-name": "gpu", "aks-managed-cluster-rg": "lab"}
    kubelet = properties(made)["identityProfile"]["kubeletidentity"]
    identity = made.get(kubelet["resourceId"], IDENTITIES).json()
    assert identity["name"] == "gpu-agentpool"
    assert identity["properties"]["clientId"] == kubelet["clientId"]
    assert identity["properties"]["principalId"] == kubelet["objectId"]


def test_a_kubelet_identity_of_the_users_own_is_taken(arm: ArmHarness) -> None:
    identity = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/pulls"
    own = arm.put(identity, {"location": "westeurope"}, IDENTITIES).json()["properties"]["principalId"]
    arm.succeeded(arm.put(CLUSTER, cluster(identityProfile={"kubeletidentity": {"resourceId": identity}})))
    assert properties(arm)["identityProfile"]["kubeletidentity"]["objectId"] == own


def test_what_an_update_is_silent_about_stays_where_aks_decided_it_or_it_cannot_change(made: ArmHarness) -> None:
    before = properties(made)
    silent = {"location": "westeurope", "identity": {"type": "SystemAssigned"}, "properties": {}}
    made.succeeded(made.put(CLUSTER, silent))
    after = properties(made)
    for name in ("kubernetesVersion", "dnsPrefix", "networkProfile", "nodeResourceGroup", "identityProfile", "fqdn"):
        assert after[name] == before[name]


def test_a_patch_changes_tags_alone(made: ArmHarness) -> None:
    answer = made.request("PATCH", CLUSTER, {"tags": {"team": "vision"}})
    assert answer.status_code == 200
    assert answer.json()["tags"] == {"team": "vision"}
    assert refusal(made.request("PATCH", CLUSTER, {"sku": {"name": "Base", "tier": "Standard"}}))[1] == "NotImplemented"


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


def test_a_group_of_nodes_goes_with_its_cluster_and_no_other(arm: ArmHarness) -> None:
    other = f"{GROUP.rsplit('/', 1)[0]}/theirs"
    arm.put(other, {"location": "westeurope"}, GROUPS)
    arm.succeeded(arm.put(CLUSTER, cluster(nodeResourceGroup="nodes")))
    arm.succeeded(arm.delete(CLUSTER))
    assert arm.get(other, GROUPS).status_code == 200


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
    arm.succeeded(arm.put(CLUSTER, cluster(aadProfile=ENTRA, disableLocalAccounts=True)))
    assert kubeconfig(arm, "listClusterUserCredential") == "user of gpu"
    assert kubeconfig(arm, "listClusterUserCredential", format="exec") == "user of gpu exec"
    shape = arm.written.shapes[KEY]
    assert (shape.entra, shape.azure_rbac, shape.local_accounts) == (True, True, False)


def test_with_local_accounts_there_are_all_kubeconfigs(made: ArmHarness) -> None:
    assert kubeconfig(made, "listClusterAdminCredential") == "admin of gpu"
    assert kubeconfig(made, "listClusterMonitoringUserCredential") == "monitoring of gpu"
    profile = made.post(f"{CLUSTER}/accessProfiles/clusterAdmin/listCredential").json()
    assert base64.b64decode(profile["properties"]["kubeConfig"]).decode() == "admin of gpu"
    assert made.post(f"{CLUSTER}/accessProfiles/other/listCredential").status_code == 404


def test_an_oidc_issuer_is_there_from_1_34_on_and_stays(arm: ArmHarness) -> None:
    """Test_AKS_ManagedCluster_20250801_CRUD (2026-01-24) has none with 1.33, Test_AKS_ManagedCluster_20260301_CRUD (2026-09-10)
    one with 1.35."""
    workload = {"securityProfile": {"workloadIdentity": {"enabled": True}}}
    answer = arm.put(CLUSTER, cluster(**workload))
    issuer = answer.json()["properties"]["oidcIssuerProfile"]["issuerURL"]
    assert issuer.startswith("https://localhost:1/kubernetes/oidc/")
    arm.succeeded(answer)
    assert arm.written.shapes[KEY].workload_identity
    arm.succeeded(arm.put(CLUSTER, cluster()))
    assert properties(arm)["oidcIssuerProfile"] == {"enabled": True, "issuerURL": issuer}


def test_versions_of_a_region_are_those_of_the_day(tmp_path: Path) -> None:
    path = f"{GROUP.split('/resourceGroups')[0]}/providers/Microsoft.ContainerService/locations/eastus/kubernetesVersions"
    listed = {}
    for day in (date(2026, 11, 21), date(2019, 5, 2)):
        (folder := tmp_path / day.isoformat()).mkdir()
        arm = ArmHarness(folder, day)
        listed[day.year] = arm.get(path, "2026-06-01").json()["values"]
        arm.close()
    assert [each["version"] for each in listed[2026]] == ["1.36", "1.35", "1.34"]
    assert [each["version"] for each in listed[2026] if each["isDefault"]] == ["1.35"]
    # microsoft/TailwindTraders-Backend pull request 35
    assert [next(iter(each["patchVersions"])) for each in listed[2019]] == ["1.13.5", "1.12.8", "1.11.9", "1.10.13"]


def test_a_time_for_maintenance_is_kept_as_it_was_given(made: ArmHarness) -> None:
    schedule = {"weekly": {"intervalWeeks": 1, "dayOfWeek": "Sunday"}}
    window = {"schedule": schedule, "durationHours": 4, "startTime": "02:00"}
    # Names in any letter case, the day of the request, and the deletion's 200: Test_AKS_ManagedCluster_20250801_CRUD (2026-01-24)
    path = f"{CLUSTER}/maintenanceConfigurations/aksmanagednodeosupgradeschedule"
    assert made.put(path, {"properties": {"maintenanceWindow": window}}).status_code == 200
    found = made.get(path).json()
    assert found["properties"] == {"maintenanceWindow": {"utcOffset": "+00:00", "startDate": "2026-11-21", **window}}
    assert [each["name"] for each in made.get(f"{CLUSTER}/maintenanceConfigurations").json()["value"]] == [found["name"]]


def test_an_identity_takes_one_credential_for_each_issuer_and_subject(arm: ArmHarness) -> None:
    version = "2023-01-31"
    identity = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/train"
    assert arm.put(identity, {"location": "westeurope"}, version).status_code == 201
    given = {
        "issuer": "https://localhost:1/oidc/",
        "subject": "system:serviceaccount:a:b",
        "audiences": ["api://AzureADTokenExchange"],
    }

    def put(name: str, **changed: Any) -> Any:
        return arm.put(f"{identity}/federatedIdentityCredentials/{name}", {"properties": {**given, **changed}}, version)

    assert put("first").status_code == 201
    assert put("first").status_code == 200
    assert arm.get(f"{identity}/federatedIdentityCredentials/first", version).json()["properties"] == given
    assert put("second", subject="system:serviceaccount:a:c").status_code == 201
