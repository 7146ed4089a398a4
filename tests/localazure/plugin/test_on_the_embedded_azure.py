"""The provider against the embedded Azure, in this process: what the two say to each other has to fit."""

from typing import Any

import grpc
import pytest

from localazure.plugin.wire import from_struct
from tests.localazure.plugin.conftest import SUBSCRIPTION, AzureEngine, connection, failure, live
from tests.support.embedded import EmbeddedAzure
from tests.support.in_process import InProcessAzure
from tests.support.provider_calls import details_of

GROUP = "azure-native:resources:ResourceGroup"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
STORAGE = "azure-native:storage:StorageAccount"
REGISTRY = "azure-native:containerregistry:Registry"
WORKSPACE = "azure-native:operationalinsights:Workspace"
ROLE = "azure-native:authorization:RoleAssignment"
READER = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/acdd72a7-3385-48ef-bd42-f606fba81ae7"


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


def test_a_token_that_a_restarted_azure_still_takes_needs_no_new_sign_in(
    unconfigured: AzureEngine, own_azure: InProcessAzure
) -> None:
    unconfigured.configure(**connection(own_azure))
    unconfigured.answer = lambda request: own_azure.http().send(request)
    created = unconfigured.create(GROUP, {"resourceGroupName": "kept", "location": "westeurope"})
    own_azure.restart()
    assert unconfigured.read(GROUP, created.id).id == created.id
    assert sum(request.url.path.endswith("/token") for request in unconfigured.requests) == 1
