"""Workspaces of Azure Machine Learning: what they need and show, what of them never changes, what a deleted one leaves."""

import uuid
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localazure.arm.store import Resource, Store
from localazure.kinds import ml_workspaces
from localazure.kinds.ml_kind import DELETED
from localazure.kinds.ml_workspace_rules import RECOVER
from tests.localazure.conftest import new_group
from tests.localazure.parts import arm_id
from tests.support.embedded import EmbeddedAzure
from tests.support.ml_resources import (
    ML,
    REGION,
    VAULTS,
    cluster_body,
    done,
    new_name,
    put_identity,
    put_insights,
    put_vault,
    put_workspace,
    refused,
    workspace_body,
)

TYPE = "Microsoft.MachineLearningServices/workspaces"
SOFT_DELETED = "Soft-deleted workspace exists. Please purge or recover it. https://aka.ms/wsoftdelete"


@pytest.fixture(scope="module")
def shared(azure: EmbeddedAzure) -> str:
    """The id of a group with a workspace; tests that change nothing share it."""
    return put_workspace(azure, new_group(azure))


@pytest.fixture(scope="module")
def parts(azure: EmbeddedAzure) -> dict[str, Any]:
    """What a workspace depends on, and a body that names it."""
    return workspace_body(azure, new_group(azure))


def properties(azure: EmbeddedAzure, workspace: str) -> dict[str, Any]:
    return azure.get(workspace, ML).json()["properties"]


def test_it_shows_what_the_service_decides(azure: EmbeddedAzure, shared: str) -> None:
    whole = azure.get(shared, ML).json()
    found = whole["properties"]
    assert uuid.UUID(found["workspaceId"])
    assert (found["publicNetworkAccess"], found["v1LegacyMode"], found["hbiWorkspace"]) == ("Enabled", False, False)
    assert found["tenantId"] == azure.tenant_id
    # This and what may come back: Test_MachineLearning_Workspaces_20240401_CRUD (2025-04-01)
    modes = ["AllowInternetOutbound", "AllowOnlyApprovedOutbound"]
    assert found["managedNetwork"] == {"isolationMode": "Disabled", "changeableIsolationModes": modes}
    assert done(azure, azure.put(shared, whole, ML))["properties"]["workspaceId"] == found["workspaceId"]
    assert set(whole["identity"]) == {"type", "principalId", "tenantId"}
    assert set(whole["systemData"]) >= {"createdAt", "createdBy", "lastModifiedAt"}
    name = shared.rsplit("/", 1)[1]
    listed = azure.get(f"{shared.split('/providers/')[0]}/providers/{TYPE}", ML).json()["value"]
    assert [each["name"] for each in listed] == [name]


def test_it_has_four_datastores_and_their_containers_from_the_start(azure: EmbeddedAzure, shared: str) -> None:
    found = {each["name"]: each["properties"] for each in azure.get(f"{shared}/datastores", ML).json()["value"]}
    assert set(found) == {"workspaceblobstore", "workspaceartifactstore", "workspacefilestore", "workspaceworkingdirectory"}
    blobs = found["workspaceblobstore"]
    assert blobs["isDefault"] is True
    assert blobs["containerName"] == f"azureml-blobstore-{properties(azure, shared)['workspaceId']}"
    assert blobs["credentials"] == {"credentialsType": "None"}, "the workspace reads by identity"
    account = properties(azure, shared)["storageAccount"]
    containers = azure.get(f"{account}/blobServices/default/containers", "2024-01-01").json()["value"]
    assert {each["name"] for each in containers} == {"azureml", blobs["containerName"]}
    own = azure.delete(f"{shared}/datastores/workspaceblobstore", ML)
    assert refused(own)[:2] == (400, "UserError")


def test_it_adds_its_principal_to_a_vault_that_has_policies(azure: EmbeddedAzure, group: str) -> None:
    """Test_MachineLearning_Workspaces_20240401_CRUD (2025-04-01)."""
    vault = put_vault(azure, group, enableRbacAuthorization=False, accessPolicies=[])
    made = put_workspace(azure, group, keyVault=vault)
    principal = azure.get(made, ML).json()["identity"]["principalId"]
    (policy,) = azure.get(vault, VAULTS).json()["properties"]["accessPolicies"]
    assert policy["objectId"] == principal
    assert policy["permissions"] == {"keys": ["all"], "secrets": ["all"], "certificates": ["all"], "storage": []}


def test_keys_are_shown_where_the_datastores_use_them(azure: EmbeddedAzure, shared: str, group: str) -> None:
    assert azure.post(f"{shared}/listKeys", ML).json()["userStorageKey"] is None
    by_key = put_workspace(azure, group, systemDatastoresAuthMode="AccessKey")
    keys = azure.post(f"{by_key}/listKeys", ML).json()
    account = properties(azure, by_key)["storageAccount"]
    listed = azure.post(f"{account}/listKeys", "2024-01-01").json()["keys"]
    assert keys["userStorageKey"] == listed[0]["value"]
    assert keys["userStorageResourceId"] == account
    store = azure.get(f"{by_key}/datastores/workspaceblobstore", ML).json()["properties"]
    assert store["credentials"] == {"credentialsType": "AccountKey"}
    assert azure.post(f"{by_key}/datastores/workspaceblobstore/listSecrets", ML).json()["key"] == listed[0]["value"]


def test_it_is_accepted_before_what_it_depends_on_is_looked_for(azure: EmbeddedAzure, parts: dict[str, Any]) -> None:
    """Test_MachineLearning_Workspaces_20240401_CRUD (2025-04-01): 202 before its storage account was there, no insights."""
    given = {name: value for name, value in parts["properties"].items() if name != "applicationInsights"}
    path = f"{given['keyVault'].split('/providers/')[0]}/providers/{TYPE}/{new_name()}"
    answer = azure.put(path, {**parts, "properties": {**given, "keyVault": "nowhere"}}, ML)
    assert (answer.status_code, answer.content) == (202, b"")
    assert "wasn't found among vaults" in azure.finished(answer)["error"]["message"]
    body = {**parts, "sku": {"name": "Standard_S1", "tier": "Free"}, "properties": given}
    path += "b"
    made = done(azure, azure.put(path, body, ML))
    assert made["properties"]["provisioningState"] == "Succeeded"
    assert made["sku"] == {"name": "Basic", "tier": "Basic"}
    assert set(azure.post(f"{path}/listKeys", ML).json()["notebookAccessKeys"]) == {"primaryAccessKey", "secondaryAccessKey"}


def test_an_identity_of_the_users_own_is_named_as_the_one_it_is_by(azure: EmbeddedAzure, group: str) -> None:
    identity = put_identity(azure, group)["id"]
    body = workspace_body(azure, group) | {"identity": {"type": "UserAssigned", "userAssignedIdentities": {identity: {}}}}
    path = f"{group}/providers/{TYPE}/{new_name()}"
    body["properties"]["primaryUserAssignedIdentity"] = identity
    made = done(azure, azure.put(path, body, ML))
    assert set(made["identity"]["userAssignedIdentities"][identity]) == {"principalId", "clientId"}


def test_insights_and_a_description_change(azure: EmbeddedAzure, group: str) -> None:
    found = put_workspace(azure, group)
    before = properties(azure, found)
    other = put_insights(azure, group)
    changed = azure.patch(found, {"tags": {"a": "b"}, "properties": {"applicationInsights": other, "description": "ours"}}, ML)
    after = done(azure, changed)
    assert after["tags"] == {"a": "b"}
    assert after["properties"]["applicationInsights"] == other
    assert after["properties"]["workspaceId"] == before["workspaceId"]


def test_a_managed_network_gets_stricter(azure: EmbeddedAzure, group: str) -> None:
    found = put_workspace(azure, group, managedNetwork={"isolationMode": "AllowInternetOutbound"})
    stricter = {"properties": {"managedNetwork": {"isolationMode": "AllowOnlyApprovedOutbound"}}}
    done(azure, azure.patch(found, stricter, ML))
    assert properties(azure, found)["managedNetwork"]["status"]["status"] == "Inactive"


def test_a_deleted_workspace_keeps_its_name_until_it_is_purged(azure: EmbeddedAzure, group: str) -> None:
    body = workspace_body(azure, group)
    path = f"{group}/providers/{TYPE}/{new_name()}"
    first = done(azure, azure.put(path, body, ML))["properties"]["workspaceId"]
    assert azure.finished(azure.delete(path, ML))["status"] == "Succeeded"
    assert azure.get(path, ML).status_code == 404
    assert refused(azure.put(path, body, ML)) == (400, "BadRequest", SOFT_DELETED)  # Azure/ResourceModules issue 3596
    purged = azure.client.delete(path, params={"api-version": ML, "forceToPurge": "true"})
    assert purged.status_code == 204
    assert done(azure, azure.put(path, body, ML))["properties"]["workspaceId"] != first


def test_one_that_is_deleted_for_good_leaves_its_name_free(azure: EmbeddedAzure, group: str) -> None:
    body = workspace_body(azure, group)
    path = f"{group}/providers/{TYPE}/{new_name()}"
    done(azure, azure.put(path, body, ML))
    environment = f"{path}/environments/purged/versions/1"
    done(azure, azure.put(environment, {"properties": {"image": "mcr.microsoft.com/azureml/minimal:1"}}, ML))
    azure.finished(azure.client.delete(path, params={"api-version": ML, "forceToPurge": "true"}))
    done(azure, azure.put(path, body, ML))
    azure.finished(azure.delete(path, ML))
    body["properties"]["allowRecoverSoftDeletedWorkspace"] = True
    done(azure, azure.put(path, body, ML))
    assert azure.get(environment, ML).status_code == 404, "it was the purged one's"


def test_what_is_kept_of_a_workspace_goes_as_the_one_that_comes_back_is_written(tmp_path: Path) -> None:
    services: Any = SimpleNamespace(
        store=Store(tmp_path / "azure.sqlite"), clock=SimpleNamespace(as_of=date(2026, 11, 22), stamp=lambda: "now")
    )
    parsed = arm_id(f"/subscriptions/s/resourceGroups/g/providers/{TYPE}/w")
    kept = Resource(id=parsed, body={}, service={"properties": {"workspaceId": "first"}}, private={"blob_container": "c"})
    DELETED.keep(parsed.key, kept, 14, services)
    ml_workspaces._recover(Resource(id=parsed, body={"properties": {RECOVER: True}}), services)
    written = services.store.get(parsed.key)  # what a server finds that comes after a kill
    assert (written.service, written.private, written.state) == (kept.service, kept.private, "Creating")
    assert DELETED.find(parsed.key, services) is None


def test_a_name_in_another_group_is_another_workspace_and_a_group_takes_its_workspaces_along(
    azure: EmbeddedAzure, group: str
) -> None:
    name = new_name()
    found = put_workspace(azure, group, name)
    other = new_group(azure)
    put_workspace(azure, other, name)
    assert azure.delete(group, "2024-03-01").status_code == 202
    azure.until(lambda: azure.get(group, "2024-03-01").status_code == 404, "the group is gone")
    new = azure.put(group, {"location": REGION}, "2024-03-01")
    assert new.status_code == 201
    assert refused(azure.put(found, workspace_body(azure, group), ML)) == (400, "BadRequest", SOFT_DELETED)


def test_a_deleted_workspace_is_recovered_with_what_is_kept_of_it(azure: EmbeddedAzure, group: str) -> None:
    body = workspace_body(azure, group)
    path = f"{group}/providers/{TYPE}/{new_name()}"
    first = done(azure, azure.put(path, body, ML))["properties"]["workspaceId"]
    environment = f"{path}/environments/scoring/versions/1"
    done(azure, azure.put(environment, {"properties": {"image": "mcr.microsoft.com/azureml/minimal:1"}}, ML))
    done(azure, azure.put(f"{path}/computes/gpu", cluster_body(), ML))
    azure.finished(azure.delete(path, ML))
    body["properties"]["allowRecoverSoftDeletedWorkspace"] = True  # as azure-ai-ml 1.35.2 sends it
    back = done(azure, azure.put(path, body, ML))["properties"]
    assert back["workspaceId"] == first
    assert "allowRecoverSoftDeletedWorkspace" not in back
    assert azure.get(environment, ML).status_code == 200
    assert azure.get(f"{path}/computes", ML).json()["value"] == [], "computes are gone at once"
    assert len(azure.get(f"{path}/datastores", ML).json()["value"]) == 4
