"""Create, read, update, delete against the embedded Azure, and what is left when they go wrong."""

from typing import Any

import grpc
import httpx
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import provider_pb2

from localazure.plugin.wire import UNKNOWN, from_struct, to_struct
from tests.localazure.plugin.conftest import HOST, SUBSCRIPTION, AzureEngine, connection, failure
from tests.localazure.test_deployments import SOLD_OUT, body, identity, template
from tests.support.batch_bodies import put_identity
from tests.support.in_process import InProcessAzure
from tests.support.provider_calls import details_of, left_behind, metadata_of

IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
STORAGE = "azure-native:storage:StorageAccount"
CONTAINERS = "azure-native:containerinstance:ContainerGroup"
DEPLOYMENT = "azure-native:resources:Deployment"
RESOURCE_GROUP = "azure-native:resources:ResourceGroup"
Inputs = dict[str, Any]


@pytest.fixture
def inputs(group: str) -> Inputs:
    return {
        "resourceGroupName": group.rsplit("/", 1)[1],
        "resourceName": "who",
        "location": "westeurope",
        "tags": {"team": "a"},
        "azureApiVersion": "2023-01-31",
    }


@pytest.fixture
def container_inputs(group: str, azure: InProcessAzure) -> Inputs:
    return containers_with(group, put_identity(azure, group)["id"])


def containers_with(group: str, identity: str) -> Inputs:
    return {
        "resourceGroupName": group.rsplit("/", 1)[1],
        "containerGroupName": "cg",
        "location": "westeurope",
        "osType": "Linux",
        "restartPolicy": "Never",
        "identity": {"type": "UserAssigned", "userAssignedIdentities": [identity]},
        "containers": [
            {
                "name": "main",
                "image": "python:3.11",
                "resources": {"requests": {"cpu": 4, "memoryInGB": 12.5}},
                "environmentVariables": [
                    {"name": "PLAIN", "value": "x"},
                    {"name": "HIDDEN", "secureValue": "do-not-print-me"},
                ],
            }
        ],
    }


def deployment_of(group: str, **changed: Any) -> Inputs:
    """A deployment whose second resource is made after its first."""
    named = {"resourceGroupName": group.rsplit("/", 1)[1], "deploymentName": "main"}
    return {**named, **body(template(identity("fine"), {**SOLD_OUT, **changed}))}


def test_a_created_resource_is_put_in_arms_form_and_kept_in_the_sdks(
    engine: AzureEngine, group: str, container_inputs: Inputs
) -> None:
    created = engine.create(CONTAINERS, container_inputs)
    (sent,) = engine.sent("PUT")
    cpu = sent["properties"]["containers"][0]["properties"]["resources"]["requests"]["cpu"]
    assert (cpu, type(cpu)) == (4, int)
    (attached,) = container_inputs["identity"]["userAssignedIdentities"]
    assert sent["identity"]["userAssignedIdentities"] == {attached: {}}
    outputs = from_struct(created.properties)
    assert created.id == f"{group}/providers/Microsoft.ContainerInstance/containerGroups/cg"
    assert outputs["containers"][0]["image"] == "python:3.11"
    assert outputs["azureApiVersion"] == "2024-05-01-preview"
    assert outputs["provisioningState"] == "Succeeded"


def test_what_is_there_already_is_not_created_again(engine: AzureEngine, inputs: Inputs) -> None:
    created = engine.create(IDENTITY, inputs)
    refused = failure(engine.create, IDENTITY, inputs)
    assert f"cannot create already existing resource '{created.id}'" in details_of(refused)
    assert "pulumi import" in details_of(refused)
    assert len(engine.sent("PUT")) == 1


def test_a_change_made_in_azure_shows_in_the_inputs_and_only_there(
    engine: AzureEngine, azure: InProcessAzure, inputs: Inputs
) -> None:
    created = engine.create(IDENTITY, inputs)
    azure.put(created.id, {"location": "westeurope", "tags": {"team": "b"}}, "2023-01-31")
    read = engine.read(IDENTITY, created.id, inputs, from_struct(created.properties))
    assert from_struct(read.inputs) == {**inputs, "tags": {"team": "b"}}


def test_an_import_by_the_id_of_another_type_is_refused(engine: AzureEngine, inputs: Inputs) -> None:
    created = engine.create(IDENTITY, inputs)
    with pytest.raises(grpc.RpcError, match=r"is not the id of a Microsoft\.Storage/storageAccounts"):
        engine.read(STORAGE, created.id)


def test_a_preview_sends_nothing_and_marks_what_azure_will_set_as_unknown(offline: AzureEngine) -> None:
    group_id = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg"
    outputs = from_struct(offline.create(CONTAINERS, containers_with(group_id, "/subscriptions/s/x"), preview=True).properties)
    assert outputs["location"] == "westeurope"
    assert outputs["instanceView"] == outputs["provisioningState"] == outputs["containers"][0]["instanceView"] == UNKNOWN
    assert "resourceGroupName" not in outputs
    group = {"resourceGroupName": "rg", "location": "westeurope"}
    token = "azure-native:resources:ResourceGroup"
    updated = from_struct(offline.update(token, group_id, {**group, "name": "rg"}, group, preview=True).properties)
    assert updated["name"] == "rg"


def test_a_refusal_is_told_in_azures_form_with_its_details(engine: AzureEngine, group: str) -> None:
    refused = failure(engine.create, DEPLOYMENT, deployment_of(group, apiVersion="1"))
    assert details_of(refused).startswith('Status=400 Code="InvalidTemplateDeployment" Message="')
    assert "NoRegisteredProviderFound" in details_of(refused)
    assert "grpc-status-details-bin" not in metadata_of(refused), "nothing is left behind"


# What is injected, how many PUTs and seconds it takes, and what is left of a creation that fails.
@pytest.mark.parametrize(
    ("faults", "puts", "seconds", "reason"),
    [
        ([{"kind": "throttle", "path": "*/userAssignedIdentities/*", "seconds": 3}], 1, 3, ""),
        ([{"kind": "lose-answer", "method": "PUT"}], 2, 0, ""),
        ([{"kind": "lose-answer", "method": "PUT", "count": 0}], 4, 4.8, "the connection to Azure was lost"),
        (
            [
                {"kind": "lose-answer", "method": "PUT"},
                {"kind": "fail", "method": "PUT", "status": 409, "code": "AnotherOperationInProgress"},
            ],
            2,
            0,
            'Code="AnotherOperationInProgress"',
        ),
    ],
    ids=["throttled", "an answer was lost once", "answers stay lost", "an answer was lost, then a conflict"],
)
def test_a_creation_is_tried_again_and_where_nobody_knows_its_end_an_update_completes_it(
    engine: AzureEngine,
    azure: InProcessAzure,
    inputs: Inputs,
    faults: list[dict[str, Any]],
    puts: int,
    seconds: float,
    reason: str,
) -> None:
    for fault in faults:
        azure.fault(**fault)
    failed = left_behind(failure(engine.create, IDENTITY, inputs)) if reason else None
    if failed is None:
        engine.create(IDENTITY, inputs)
    assert (len(engine.sent("PUT")), round(engine.time.now, 1)) == (puts, seconds)
    if failed is not None:
        assert failed.id.endswith("/providers/Microsoft.ManagedIdentity/userAssignedIdentities/who")
        assert from_struct(failed.inputs) == inputs
        assert reason in failed.reasons[0]
        azure.clear_faults()
        completed = engine.update(IDENTITY, failed.id, from_struct(failed.properties), inputs)
        assert from_struct(completed.properties)["tags"] == {"team": "a"}


def test_a_resource_that_was_put_and_cannot_be_read_back_is_kept(
    engine: AzureEngine, azure: InProcessAzure, inputs: Inputs
) -> None:
    refused_read = {"kind": "fail", "method": "GET", "status": 403, "code": "AuthorizationFailed"}
    send = engine.answer

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "PUT":
            azure.fault(**refused_read)
        return send(request)

    engine.answer = answer
    failed = left_behind(failure(engine.create, IDENTITY, inputs))
    assert failed.id.endswith("/userAssignedIdentities/who")
    assert from_struct(failed.properties)["tags"] == {"team": "a"}
    assert 'Code="AuthorizationFailed"' in failed.reasons[0]


def test_an_operation_that_fails_leaves_a_partial_resource_with_azures_reason(
    engine: AzureEngine, azure: InProcessAzure, group: str
) -> None:
    azure.fault("capacity", location="westeurope")
    failed = left_behind(failure(engine.create, DEPLOYMENT, deployment_of(group)))
    assert failed.id.endswith("/deployments/main")
    assert 'Code="DeploymentFailed"' in failed.reasons[0]
    assert from_struct(failed.properties)["properties"]["provisioningState"] == "Failed"


def test_cancelling_ends_the_wait_and_keeps_the_resource(engine: AzureEngine, group: str) -> None:
    engine.time.waited = lambda _: engine.stub.Cancel(Empty())
    assert left_behind(failure(engine.create, DEPLOYMENT, deployment_of(group))).id.endswith("/deployments/main")


def test_an_operation_that_takes_longer_than_the_resources_timeout_leaves_a_partial_resource(
    engine: AzureEngine, group: str
) -> None:
    send, running = engine.answer, httpx.Response(200, json={"status": "Running"})
    engine.answer = lambda request: running if "/operationStatuses/" in request.url.path else send(request)
    properties = to_struct(deployment_of(group))
    request = provider_pb2.CreateRequest(urn=engine.urn(DEPLOYMENT), properties=properties, timeout=600)
    assert "within the resource's timeout" in left_behind(failure(engine.stub.Create, request)).reasons[0]
    assert engine.time.now == 600


def test_a_wrong_client_secret_is_one_clear_message(engine: AzureEngine, azure: InProcessAzure, inputs: Inputs) -> None:
    engine.configure(**{**connection(azure), "clientSecret": "wrong"})
    with pytest.raises(grpc.RpcError, match="AADSTS7000215"):
        engine.create(IDENTITY, inputs)


def test_no_secret_is_told_when_things_fail(
    engine: AzureEngine,
    azure: InProcessAzure,
    container_inputs: Inputs,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(0)
    azure.fault("fail", method="PUT", count=0)
    told = details_of(failure(engine.create, CONTAINERS, container_inputs))
    azure.clear_faults()
    container_inputs["containers"][0]["resources"] = "many"
    told += details_of(failure(engine.create, CONTAINERS, container_inputs))
    assert "do-not-print-me" in str(engine.sent("PUT")), "the secret went to ARM"
    shown = "".join([told, caplog.text, *capfd.readouterr()])
    assert "do-not-print-me" not in shown
    assert azure.client_secret not in shown


def test_an_azure_that_is_not_running_is_one_clear_message(offline: AzureEngine, inputs: Inputs) -> None:
    with pytest.raises(grpc.RpcError, match=rf"https://{HOST}/metadata/endpoints doesn't answer .* nothing listens there"):
        offline.create(IDENTITY, inputs)


def test_the_functions_answer_what_the_programs_ask(engine: AzureEngine, azure: InProcessAzure, group: str) -> None:
    assert engine.invoke("azure-native:authorization:getClientConfig") == {
        "clientId": azure.client_id,
        "objectId": azure.principal_id,
        "subscriptionId": SUBSCRIPTION,
        "tenantId": azure.tenant_id,
    }
    named = {"resourceGroupName": group.rsplit("/", 1)[1]}
    found = engine.invoke("azure-native:resources:getResourceGroup", **named)
    assert (found["id"], found["location"]) == (group, "westeurope")
    workspace = {**named, "workspaceName": "logs"}
    engine.create("azure-native:operationalinsights:Workspace", {**workspace, "location": "westeurope"})
    assert engine.invoke("azure-native:operationalinsights:getWorkspace", **workspace)["id"].startswith(group)
    keys = engine.invoke("azure-native:operationalinsights:getSharedKeys", **workspace)
    assert set(keys) == {"primarySharedKey", "secondarySharedKey"}
    cluster = {**named, "resourceName": "gpu", "format": "exec"}
    failure(engine.invoke, "azure-native:containerservice:listManagedClusterUserCredentials", **cluster)
    assert engine.requests[-1].url.params["format"] == "exec"


@pytest.mark.parametrize(
    ("token", "arguments", "message"),
    [
        ("azure-native:batch:listBatchAccountKeys", {}, "'azure-native:batch:listBatchAccountKeys' is not implemented"),
        ("azure-native:resources:getResourceGroup", {}, "missing required property 'resourceGroupName'"),
        ("azure-native:containerservice:listManagedClusterUserCredentials", {}, "missing required property 'resourceGroupName'"),
        ("azure-native:resources:getResourceGroup", {"resourceGroupName": "no"}, "there is no resource"),
    ],
)
def test_a_function_that_cannot_answer_says_why(engine: AzureEngine, token: str, arguments: dict, message: str) -> None:
    assert message in details_of(failure(engine.invoke, token, **arguments))


def test_a_type_that_is_not_declared_is_refused_by_name(offline: AzureEngine) -> None:
    with pytest.raises(grpc.RpcError, match="'azure-native:sql:Server' is not implemented"):
        offline.check("azure-native:sql:Server", {})


def test_a_token_that_a_restarted_azure_still_takes_needs_no_new_sign_in(
    unconfigured: AzureEngine, own_azure: InProcessAzure
) -> None:
    unconfigured.configure(**connection(own_azure))
    unconfigured.answer = lambda request: own_azure.http().send(request)
    created = unconfigured.create(RESOURCE_GROUP, {"resourceGroupName": "kept", "location": "westeurope"})
    own_azure.restart()
    assert unconfigured.read(RESOURCE_GROUP, created.id).id == created.id
    assert sum(request.url.path.endswith("/token") for request in unconfigured.requests) == 1


def test_a_template_deployment_is_a_resource_that_leaves_what_it_made(
    engine: AzureEngine, azure: InProcessAzure, group: str
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
