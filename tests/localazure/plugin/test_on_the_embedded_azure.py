"""The provider against the embedded Azure, in this process: what the two say to each other has to fit."""

from typing import Any

import grpc
import pytest

from localazure.plugin.servicer import Provider
from localazure.plugin.wire import from_struct
from tests.localazure.plugin.conftest import SUBSCRIPTION, AzureEngine, Engine, connection, failure, live
from tests.support.embedded import EmbeddedAzure, ServedAzure
from tests.support.provider_calls import Calls, details_of, left_behind

GROUP = "azure-native:resources:ResourceGroup"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
STORAGE = "azure-native:storage:StorageAccount"
REGISTRY = "azure-native:containerregistry:Registry"
WORKSPACE = "azure-native:operationalinsights:Workspace"
ROLE = "azure-native:authorization:RoleAssignment"
READER = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/acdd72a7-3385-48ef-bd42-f606fba81ae7"


@pytest.fixture
def engine(connected: AzureEngine) -> AzureEngine:
    return connected


CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (IDENTITY, {}, {"tags": {"team": "b"}}),
    (STORAGE, {"kind": "StorageV2", "sku": {"name": "Standard_LRS"}}, {"allowBlobPublicAccess": True}),
    (REGISTRY, {"sku": {"name": "Basic"}}, {"sku": {"name": "Standard"}}),
    (WORKSPACE, {"sku": {"name": "PerGB2018"}, "retentionInDays": 30}, {"retentionInDays": 60}),
]


@pytest.mark.parametrize(("token", "inputs", "edit"), CASES, ids=[case[0] for case in CASES])
def test_a_resource_lives_from_check_to_delete_without_false_differences(
    engine: AzureEngine, group: str, token: str, inputs: dict[str, Any], edit: dict[str, Any]
) -> None:
    given = {**inputs, "resourceGroupName": group.split("/")[-1]}
    live(engine, token, given, edit)
    assert engine.check(token, given)[0]["location"] == "westeurope", "the resource group's"


def test_a_role_assignment_hangs_under_the_resource_that_it_is_about(
    engine: AzureEngine, azure: EmbeddedAzure, group: str
) -> None:
    checked, failures = engine.check(ROLE, {"scope": group, "principalId": azure.principal_id, "roleDefinitionId": READER})
    assert failures == []
    created = engine.create(ROLE, checked)
    outputs = from_struct(created.properties)
    assert created.id.lower().startswith(f"{group}/providers/microsoft.authorization/".lower())
    assert from_struct(engine.read(ROLE, created.id, checked, outputs).inputs) == checked


def test_azure_refuses_a_value_of_another_type_by_its_path(engine: AzureEngine, azure: EmbeddedAzure, group: str) -> None:
    checked, _ = engine.check(WORKSPACE, {"resourceGroupName": group.split("/")[-1], "retentionInDays": "many"})
    refused = failure(engine.create, WORKSPACE, checked)
    assert details_of(refused).startswith("Status=400 ")
    assert "properties.retentionInDays" in details_of(refused)


def test_a_missing_resource_group_is_azures_own_refusal(engine: AzureEngine) -> None:
    with pytest.raises(grpc.RpcError, match='Status=404 Code="ResourceGroupNotFound"'):
        engine.create(IDENTITY, {"resourceGroupName": "nobodys", "resourceName": "n", "location": "westeurope"})


def real_engine(azure: ServedAzure, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The provider with its own connections."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(azure.ca_bundle))
    engine = Engine(Calls(Provider({})))
    engine.configure(**connection(azure))
    return engine


@pytest.mark.slow
def test_a_token_that_a_restarted_azure_still_takes_needs_no_new_sign_in(
    own_served_azure: ServedAzure, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = real_engine(own_served_azure, monkeypatch)
    created = engine.create(GROUP, {"resourceGroupName": "kept", "location": "westeurope"})
    own_served_azure.kill9()
    own_served_azure.start()
    assert engine.read(GROUP, created.id).id == created.id


@pytest.mark.slow
def test_an_azure_that_is_killed_while_it_works_leaves_what_the_next_update_completes(
    own_served_azure: ServedAzure, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = real_engine(own_served_azure, monkeypatch)
    inputs = {"resourceGroupName": "half", "location": "westeurope", "tags": {"a": "b"}}
    assert own_served_azure.command("fault", "lose-answer", "--method", "PUT", "--count", "0").returncode == 0
    failed = left_behind(failure(engine.create, GROUP, inputs))
    own_served_azure.kill9()
    own_served_azure.start()
    assert own_served_azure.command("fault", "clear").returncode == 0
    completed = engine.update(GROUP, failed.id, from_struct(failed.properties), inputs)
    assert from_struct(completed.properties)["tags"] == {"a": "b"}


def test_the_functions_read_what_exists(engine: AzureEngine, azure: EmbeddedAzure, group: str) -> None:
    name = group.split("/")[-1]
    assert engine.invoke("azure-native:authorization:getClientConfig")["objectId"] == azure.principal_id
    engine.create(WORKSPACE, {"resourceGroupName": name, "workspaceName": "logs", "location": "westeurope"})
    found = engine.invoke("azure-native:operationalinsights:getWorkspace", resourceGroupName=name, workspaceName="logs")
    assert found["id"].startswith(group)
    keys = engine.invoke("azure-native:operationalinsights:getSharedKeys", resourceGroupName=name, workspaceName="logs")
    assert set(keys) == {"primarySharedKey", "secondarySharedKey"}
