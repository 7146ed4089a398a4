"""Identities, role assignments, storage accounts and workspaces, each by what its service does beyond ARM's own rules."""

import base64
import uuid
from typing import Any

from tests.localazure.conftest import new_group
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

SUBSCRIPTION_ID = f"/subscriptions/{SUBSCRIPTION}"
IDENTITIES = "providers/Microsoft.ManagedIdentity/userAssignedIdentities"
ASSIGNMENTS = "providers/Microsoft.Authorization/roleAssignments"
ACR_PULL = f"{SUBSCRIPTION_ID}/providers/Microsoft.Authorization/roleDefinitions/7f951dda-4ed3-4680-a7ca-43fe172d538d"
ACCOUNT = {"location": "westeurope", "sku": {"name": "Standard_LRS"}, "kind": "StorageV2"}


def identity(azure: EmbeddedAzure, group: str) -> dict[str, Any]:
    return azure.put(f"{group}/{IDENTITIES}/trainer", {"location": "westeurope"}, "2023-01-31").json()


def assign(azure: EmbeddedAzure, scope: str, principal: str, role: str = ACR_PULL, name: str = "") -> Any:
    body = {"properties": {"principalId": principal, "roleDefinitionId": role, "principalType": "ServicePrincipal"}}
    return azure.put(f"{scope}/{ASSIGNMENTS}/{name or uuid.uuid4()}", body, "2022-04-01")


def test_the_same_assignment_again_is_no_change(azure: EmbeddedAzure, group: str) -> None:
    principal, name = identity(azure, group)["properties"]["principalId"], str(uuid.uuid4())
    assert [assign(azure, group, principal, name=name).status_code for _ in range(2)] == [201, 201]


def test_a_role_is_looked_up_by_name_and_by_guid(azure: EmbeddedAzure, group: str) -> None:
    definitions = f"{group}/providers/Microsoft.Authorization/roleDefinitions"
    (found,) = azure.get(definitions, "2022-04-01", **{"$filter": "roleName eq 'AcrPull'"}).json()["value"]
    assert (found["id"], found["properties"]["roleName"]) == (ACR_PULL, "AcrPull")
    assert azure.get(ACR_PULL, "2022-04-01").json() == found
    assert azure.get(definitions, "2022-04-01", **{"$filter": "roleName eq 'Nobody'"}).json()["value"] == []


def test_assignments_are_listed_at_above_and_below_a_scope(azure: EmbeddedAzure, group: str) -> None:
    trainer = identity(azure, group)
    principal = trainer["properties"]["principalId"]
    here = assign(azure, group, principal).json()["id"]
    below = assign(azure, trainer["id"], principal).json()["id"]
    above = assign(azure, SUBSCRIPTION_ID, principal).json()["id"]
    elsewhere = assign(azure, new_group(azure), principal).json()["id"]

    def listed(scope: str, conditions: str) -> set[str]:
        value = azure.get(f"{scope}/{ASSIGNMENTS}", "2022-04-01", **{"$filter": conditions}).json()["value"]
        return {each["id"] for each in value}

    assert listed(group, f"principalId eq '{principal}'") == {here, below, above}
    assert listed(group, f"atScope() and principalId eq '{principal}'") == {here, above}
    assert listed(SUBSCRIPTION_ID, f"assignedTo('{principal}')") == {here, below, above, elsewhere}
    assert azure.delete(above, "2022-04-01").json()["id"] == above


def test_a_storage_account_has_endpoints_a_tier_and_two_keys(azure: EmbeddedAzure, group: str) -> None:
    name = f"data{group[-8:]}"
    path = f"{group}/providers/Microsoft.Storage/storageAccounts/{name}"
    made = azure.made(path, {**ACCOUNT, "properties": {"allowBlobPublicAccess": False}}, "2024-01-01")
    assert made["sku"] == {"name": "Standard_LRS", "tier": "Standard"}
    assert made["properties"]["primaryEndpoints"]["blob"] == f"{azure.url}/blob/{name}/"
    assert made["properties"]["primaryEndpoints"]["queue"] == f"https://{name}.queue.core.windows.net/"

    keys = azure.post(f"{path}/listKeys", "2024-01-01").json()["keys"]
    assert [each["keyName"] for each in keys] == ["key1", "key2"]
    assert all(len(base64.b64decode(each["value"])) == 64 for each in keys)
    assert keys[0]["value"] not in azure.get(path, "2024-01-01").text

    changed = azure.post(f"{path}/regenerateKey", "2024-01-01", {"keyName": "key1"}).json()["keys"]
    assert changed[0]["value"] != keys[0]["value"]
    assert changed[1]["value"] == keys[1]["value"]


def test_a_workspace_has_an_id_keys_and_the_services_defaults(azure: EmbeddedAzure, group: str) -> None:
    path = f"{group}/providers/Microsoft.OperationalInsights/workspaces/logs-1"
    made = azure.made(path, {"location": "westeurope"}, "2023-09-01")["properties"]
    assert (made["retentionInDays"], made["sku"]["name"], made["provisioningState"]) == (30, "PerGB2018", "Succeeded")
    again = azure.made(path, {"location": "westeurope", "properties": {"retentionInDays": 60}}, "2023-09-01")["properties"]
    assert again["customerId"] == made["customerId"] == str(uuid.UUID(made["customerId"]))
    assert again["retentionInDays"] == 60

    keys = azure.post(f"{path}/sharedKeys", "2023-09-01").json()
    assert set(keys) == {"primarySharedKey", "secondarySharedKey"}
    assert keys["primarySharedKey"] not in azure.get(path, "2023-09-01").text
