"""The provider against the embedded Azure, in this process: what the two say to each other has to fit."""

from typing import Any

import grpc
import pytest

from localazure.plugin.wire import from_struct
from tests.localazure.plugin.conftest import AzureEngine, connection, failure
from tests.localazure.test_deployments import body, identity, template
from tests.support.batch_bodies import AGENT, HPC, T4, put_account
from tests.support.embedded import EmbeddedAzure
from tests.support.in_process import InProcessAzure
from tests.support.provider_calls import details_of

GROUP = "azure-native:resources:ResourceGroup"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
WORKSPACE = "azure-native:operationalinsights:Workspace"
POOL, DEPLOYMENT = "azure-native:batch:Pool", "azure-native:resources:Deployment"


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


@pytest.fixture
def pool(engine: AzureEngine, azure: InProcessAzure, group: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """A pool that scales by itself: its id, its inputs and its outputs."""
    account = put_account(azure, group)["name"]
    machine = {"virtualMachineConfiguration": {"imageReference": dict(HPC), "nodeAgentSkuId": AGENT}}
    formula = {"autoScale": {"formula": "$TargetDedicatedNodes = 1;"}}
    given = {"resourceGroupName": group.split("/")[-1], "accountName": account, "vmSize": T4}
    checked, failures = engine.check(POOL, {**given, "deploymentConfiguration": machine, "scaleSettings": formula})
    assert failures == []
    created = engine.create(POOL, checked)
    return created.id, checked, from_struct(created.properties)


def test_what_scales_by_itself_is_no_drift(engine: AzureEngine, pool: tuple[str, dict[str, Any], dict[str, Any]]) -> None:
    """The nodes of a pool come and go; nobody changed its declaration."""
    resource_id, checked, outputs = pool
    read = engine.read(POOL, resource_id, checked, {**outputs, "currentDedicatedNodes": 7})
    assert from_struct(read.properties)["currentDedicatedNodes"] != 7
    assert from_struct(read.inputs) == checked


def test_another_size_is_an_update_in_the_plan_and_refused_by_batch(
    engine: AzureEngine, pool: tuple[str, dict[str, Any], dict[str, Any]]
) -> None:
    resource_id, checked, outputs = pool
    news = {**checked, "vmSize": "Standard_NC8as_T4_v3"}
    assert list(engine.diff(POOL, checked, news, outputs).replaces) == []
    with pytest.raises(grpc.RpcError, match='Status=400 Code="PropertyCannotBeUpdated"') as refused:
        engine.update(POOL, resource_id, outputs, news)
    assert '"message": "properties.vmSize"' in details_of(refused.value)
    assert list(engine.diff(POOL, checked, {**news, "poolName": "train-2"}, outputs).replaces) == ["poolName"]


def test_a_template_deployment_is_a_resource_that_leaves_what_it_made(
    engine: AzureEngine, azure: EmbeddedAzure, group: str
) -> None:
    def inputs(team: str) -> dict[str, Any]:
        named = {"resourceGroupName": group.rsplit("/", 1)[1], "deploymentName": "who"}
        return {**named, **body(template(identity("trainer", tags={"team": team})))}

    checked, failures = engine.check(DEPLOYMENT, inputs("a"))
    assert failures == []
    created = engine.create(DEPLOYMENT, checked)
    outputs = from_struct(created.properties)
    assert outputs["properties"]["provisioningState"] == "Succeeded"
    assert "template" not in outputs["properties"], "it is never answered"
    assert from_struct(engine.read(DEPLOYMENT, created.id, checked, outputs).inputs) == checked, "a refresh finds no change"
    edited, _ = engine.check(DEPLOYMENT, inputs("b"), olds=checked)
    found = engine.diff(DEPLOYMENT, checked, edited, outputs)
    assert (list(found.detailedDiff), list(found.replaces)) == (["properties.template.resources[0].tags.team"], [])
    engine.update(DEPLOYMENT, created.id, outputs, edited)
    engine.delete(DEPLOYMENT, created.id)
    assert engine.read(DEPLOYMENT, created.id).id == ""
    trainer = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/trainer"
    assert azure.get(trainer, "2023-01-31").json()["tags"] == {"team": "b"}
