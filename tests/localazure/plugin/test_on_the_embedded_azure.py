"""The provider over a real channel against the real embedded Azure: what the two say to each other has to fit."""

from collections.abc import Callable
from typing import Any

import grpc
import pytest

from localazure.plugin.wire import from_struct
from tests.localazure.plugin.conftest import SUBSCRIPTION, Engine, connect, details_of, left_behind
from tests.support.embedded import ServedAzure

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


@pytest.fixture
def connected(unconfigured: Engine, monkeypatch: pytest.MonkeyPatch) -> Callable[[ServedAzure], Engine]:
    return lambda azure: connect(unconfigured, azure, monkeypatch)


@pytest.mark.parametrize(("token", "inputs", "edit"), CASES, ids=[case[0] for case in CASES])
def test_a_resource_lives_from_check_to_delete_without_false_differences(
    connected: Callable[[ServedAzure], Engine],
    azure: ServedAzure,
    group: str,
    token: str,
    inputs: dict[str, Any],
    edit: dict[str, Any],
) -> None:
    engine = connected(azure)
    checked, failures = engine.check(token, {**inputs, "resourceGroupName": group.split("/")[-1]}, name="thing")
    assert failures == []
    assert checked["location"] == "westeurope", "the resource group's"
    created = engine.create(token, checked)
    outputs = from_struct(created.properties)

    read = engine.read(token, created.id, checked, outputs)
    assert from_struct(read.inputs) == checked, "a refresh right after changes nothing"
    assert from_struct(read.properties) == outputs
    imported = from_struct(engine.read(token, created.id).inputs)
    assert {name: imported[name] for name in checked if name != "__createBeforeDelete"} == {
        name: value for name, value in checked.items() if name != "__createBeforeDelete"
    }

    news, failures = engine.check(
        token, {**inputs, **edit, "resourceGroupName": group.split("/")[-1]}, olds=checked, name="thing"
    )
    assert failures == []
    assert list(engine.diff(token, checked, news, outputs).diffs) == list(edit)
    updated = from_struct(engine.update(token, created.id, outputs, news).properties)
    assert holds(updated, edit)

    engine.delete(token, created.id)
    assert engine.read(token, created.id, news, updated).id == ""


def holds(outputs: Any, part: Any) -> bool:
    """Whether `part` is so in `outputs`, which may say more."""
    if isinstance(part, dict):
        return all(name in outputs and holds(outputs[name], value) for name, value in part.items())
    return outputs == part


def test_a_role_assignment_hangs_under_the_resource_that_it_is_about(
    connected: Callable[[ServedAzure], Engine], azure: ServedAzure, group: str
) -> None:
    engine = connected(azure)
    checked, failures = engine.check(ROLE, {"scope": group, "principalId": azure.principal_id, "roleDefinitionId": READER})
    assert failures == []
    created = engine.create(ROLE, checked)
    outputs = from_struct(created.properties)
    assert created.id.lower().startswith(f"{group}/providers/microsoft.authorization/".lower())
    assert from_struct(engine.read(ROLE, created.id, checked, outputs).inputs) == checked


def test_azure_refuses_a_value_of_another_type_by_its_path(
    connected: Callable[[ServedAzure], Engine], azure: ServedAzure, group: str
) -> None:
    engine = connected(azure)
    checked, _ = engine.check(WORKSPACE, {"resourceGroupName": group.split("/")[-1], "retentionInDays": "many"})
    with pytest.raises(grpc.RpcError) as refused:
        engine.create(WORKSPACE, checked)
    assert details_of(refused.value).startswith("Status=400 ")
    assert "properties.retentionInDays" in details_of(refused.value)


def test_a_missing_resource_group_is_azures_own_refusal(connected: Callable[[ServedAzure], Engine], azure: ServedAzure) -> None:
    engine = connected(azure)
    with pytest.raises(grpc.RpcError, match='Status=404 Code="ResourceGroupNotFound"'):
        engine.create(IDENTITY, {"resourceGroupName": "nobodys", "resourceName": "n", "location": "westeurope"})


@pytest.mark.slow
def test_a_token_that_a_restarted_azure_still_takes_needs_no_new_sign_in(
    connected: Callable[[ServedAzure], Engine], own_azure: ServedAzure
) -> None:
    engine = connected(own_azure)
    created = engine.create(GROUP, {"resourceGroupName": "kept", "location": "westeurope"})
    own_azure.kill9()
    own_azure.start()
    assert engine.read(GROUP, created.id).id == created.id


@pytest.mark.slow
def test_an_azure_that_is_killed_while_it_works_leaves_what_the_next_update_completes(
    connected: Callable[[ServedAzure], Engine], own_azure: ServedAzure
) -> None:
    engine = connected(own_azure)
    inputs = {"resourceGroupName": "half", "location": "westeurope", "tags": {"a": "b"}}
    assert own_azure.command("fault", "lose-answer", "--method", "PUT", "--count", "0").returncode == 0
    with pytest.raises(grpc.RpcError) as lost:
        engine.create(GROUP, inputs)
    failed = left_behind(lost.value)
    own_azure.kill9()
    own_azure.start()
    assert own_azure.command("fault", "clear").returncode == 0
    completed = engine.update(GROUP, failed.id, from_struct(failed.properties), inputs)
    assert from_struct(completed.properties)["tags"] == {"a": "b"}


def test_the_functions_read_what_exists(connected: Callable[[ServedAzure], Engine], azure: ServedAzure, group: str) -> None:
    engine = connected(azure)
    name = group.split("/")[-1]
    assert engine.invoke("azure-native:authorization:getClientConfig")["objectId"] == azure.principal_id
    engine.create(WORKSPACE, {"resourceGroupName": name, "workspaceName": "logs", "location": "westeurope"})
    found = engine.invoke("azure-native:operationalinsights:getWorkspace", resourceGroupName=name, workspaceName="logs")
    assert found["id"].startswith(group)
    keys = engine.invoke("azure-native:operationalinsights:getSharedKeys", resourceGroupName=name, workspaceName="logs")
    assert set(keys) == {"primarySharedKey", "secondarySharedKey"}
