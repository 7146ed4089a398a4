"""What public sessions with the real Azure show being refused is refused here, with the same status and code.

Each has its source: a recording of the Azure Service Operator (Test_...) or of the Azure CLI and its extensions (test_...),
and the day on which it was made.
"""

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.recorded.lives import settle
from tests.recorded.requests import READER
from tests.support.embedded import EmbeddedAzure
from tests.support.in_process import InProcessAzure
from tests.support.managed_clusters import CLUSTER, ArmHarness, cluster, pool

NETWORK_VERSION = "2024-03-01"
PLACE = {"location": "westeurope"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that is refused: `{group}` is a resource group with a network whose parts depend on each other."""

    what: str
    source: str  # the recording's name and day
    status: int
    code: str
    method: str
    path: str
    version: str
    body: Any = None


_NETWORKS = "{group}/providers/Microsoft.Network"
_ROLES = "{group}/providers/Microsoft.Authorization/roleAssignments"
_ACCOUNTS = "{group}/providers/Microsoft.Storage/storageAccounts"
_NOBODY = "{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/nobody"
_ACCOUNT = {**PLACE, "kind": "StorageV2", "sku": {"name": "Standard_LRS"}}

REFUSALS = (
    Refusal(
        "a role that the principal has already",
        "test_containerapp_registry_identity_user, 2025-11-05",
        409,
        "RoleAssignmentExists",
        "PUT",
        f"{_ROLES}/5ac6f3a8-7b1f-4d1b-9d5e-6c1f7a0e9b13",
        "2022-04-01",
        {"properties": {"roleDefinitionId": READER, "principalId": "{principal}"}},
    ),
    Refusal(
        "a principal that is no GUID",
        "Test_ConfigMapUpdated_TriggersReconcile, 2025-11-30",
        400,
        "InvalidPrincipalId",
        "PUT",
        f"{_ROLES}/5ac6f3a8-7b1f-4d1b-9d5e-6c1f7a0e9b14",
        "2022-04-01",
        {"properties": {"roleDefinitionId": READER, "principalId": "somebody"}},
    ),
    Refusal(
        "an interface in a subnet that isn't there",
        "Test_Network_v1api20240301_CreationAndDeletion, 2025-07-15",
        400,
        "InvalidResourceReference",
        "PUT",
        f"{_NETWORKS}/networkInterfaces/other",
        NETWORK_VERSION,
        {
            **PLACE,
            "properties": {
                "ipConfigurations": [
                    {"name": "main", "properties": {"subnet": {"id": f"{_NETWORKS}/virtualNetworks/net/subnets/none"}}}
                ]
            },
        },
    ),
    Refusal(
        "a group of rules that an interface uses",
        "test_delete_dependent_resources, 2021-07-07",
        400,
        "InUseNetworkSecurityGroupCannotBeDeleted",
        "DELETE",
        f"{_NETWORKS}/networkSecurityGroups/rules",
        NETWORK_VERSION,
    ),
    Refusal(
        "an address that an interface uses",
        "Test_Networking_ApplicationGateway_20220701_CRUD, 2024-11-08",
        400,
        "PublicIPAddressCannotBeDeleted",
        "DELETE",
        f"{_NETWORKS}/publicIPAddresses/door",
        NETWORK_VERSION,
    ),
    Refusal(
        "a network in which an interface is",
        "Test_Networking_ApplicationGateway_20220701_CRUD, 2024-11-08",
        400,
        "InUseSubnetCannotBeDeleted",
        "DELETE",
        f"{_NETWORKS}/virtualNetworks/net",
        NETWORK_VERSION,
    ),
    Refusal(
        "an account with a name of other characters",
        "Test_AzureName_IsImmutable_IfAzureHasBeenCommunicatedWith, no date",
        400,
        "AccountNameInvalid",
        "PUT",
        f"{_ACCOUNTS}/Not_A_Name",
        "2023-01-01",
        _ACCOUNT,
    ),
    Refusal(
        "an account with an identity that isn't there",
        "Test_StorageAccountWithKubernetesReferenceUserAssignedIdentity, no date",
        400,
        "FailedIdentityOperation",
        "PUT",
        f"{_ACCOUNTS}/{{unique}}",
        "2023-01-01",
        {**_ACCOUNT, "identity": {"type": "UserAssigned", "userAssignedIdentities": {_NOBODY: {}}}},
    ),
    Refusal(
        "an environment without any workload profile, where it had some",
        "test_containerapp_env_enable_workload_profiles_infer_env_type, 2023-10-25",
        400,
        "WorkloadProfileCannotRemoveAll",
        "PUT",
        "{group}/providers/Microsoft.App/managedEnvironments/env",
        "2025-01-01",
        {**PLACE, "properties": {"workloadProfiles": []}},
    ),
    Refusal(
        "a group in a region that there isn't",
        "Test_NewResourceGroup_Error, no date",
        400,
        "LocationNotAvailableForResourceGroup",
        "PUT",
        "{group}-other",
        "2020-06-01",
        {"location": "BadLocation"},
    ),
)


@pytest.fixture(scope="module")
def furnished(azure: InProcessAzure) -> dict[str, str]:
    """The words of a group with a network, an interface in it with rules and an address, an environment, and a role."""
    unique = f"r{uuid.uuid4().hex[:12]}"
    group = f"/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/{unique}"
    network = f"{group}/providers/Microsoft.Network"
    subnet = f"{network}/virtualNetworks/net/subnets/nodes"
    rules, address = f"{network}/networkSecurityGroups/rules", f"{network}/publicIPAddresses/door"
    interface = {"subnet": {"id": subnet}, "publicIPAddress": {"id": address}}
    profiles = [{"name": "four", "workloadProfileType": "D4", "minimumCount": 1, "maximumCount": 2}]
    for path, version, properties, more in (
        (group, "2020-06-01", None, {}),
        (f"{network}/virtualNetworks/net", NETWORK_VERSION, {"addressSpace": {"addressPrefixes": ["10.8.0.0/16"]}}, {}),
        (subnet, NETWORK_VERSION, {"addressPrefix": "10.8.1.0/24"}, {}),
        (rules, NETWORK_VERSION, {}, {}),
        (address, NETWORK_VERSION, {"publicIPAllocationMethod": "Static"}, {"sku": {"name": "Standard"}}),
        (
            f"{network}/networkInterfaces/nic",
            NETWORK_VERSION,
            {"ipConfigurations": [{"name": "main", "properties": interface}], "networkSecurityGroup": {"id": rules}},
            {},
        ),
        (f"{group}/providers/Microsoft.App/managedEnvironments/env", "2025-01-01", {"workloadProfiles": profiles}, {}),
        (
            f"{group}/providers/Microsoft.Authorization/roleAssignments/{uuid.uuid4()}",
            "2022-04-01",
            {"roleDefinitionId": READER, "principalId": azure.principal_id},
            {},
        ),
    ):
        body = {**({} if "subnets" in path or "roleAssignments" in path else PLACE), **more}
        made = azure.put(path, body if properties is None else {**body, "properties": properties}, version)
        assert made.is_success, made.text
        settle(azure.client.request, azure.until, made)
    return {"{group}": group, "{unique}": unique, "{principal}": azure.principal_id}


def worded(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {worded(name, words): worded(each, words) for name, each in value.items()}
    if isinstance(value, list):
        return [worded(each, words) for each in value]
    if isinstance(value, str):
        for word, meaning in words.items():
            value = value.replace(word, meaning)
    return value


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda each: each.code)
def test_what_azure_was_recorded_to_refuse_is_refused(refusal: Refusal, azure: EmbeddedAzure, furnished: dict[str, str]) -> None:
    path, body = worded(refusal.path, furnished), worded(refusal.body, furnished)
    answer = azure.client.request(refusal.method, path, params={"api-version": refusal.version}, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (refusal.status, refusal.code), answer.text


def test_a_system_pool_takes_no_taint_of_ones_own(tmp_path: Path) -> None:
    """test_aks_create_cluster_with_taints, 2025-04-10."""
    arm = ArmHarness(tmp_path)
    try:
        arm.succeeded(arm.put(CLUSTER, cluster()))
        body = pool(mode="System", vmSize="Standard_D4s_v5", nodeTaints=["team=lab:NoSchedule"])
        answer = arm.put(f"{CLUSTER}/agentPools/more", body)
        error = answer.json()["error"]
        found = (answer.status_code, error["code"], error.get("target"))
        assert found == (400, "SystemPoolHasRestrictedTaint", "agentPoolProfile.nodeTaints")
    finally:
        arm.close()
