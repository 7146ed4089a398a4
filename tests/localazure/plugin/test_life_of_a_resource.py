"""Create, read, update, delete against a strict ARM, and what is left when they go wrong."""

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import provider_pb2

from localazure.plugin.wire import UNKNOWN, from_struct, to_struct
from tests.localazure.plugin.conftest import SUBSCRIPTION, AzureEngine, configuration, failure
from tests.localazure.plugin.fake_arm import CLIENT, PRINCIPAL, SECRET, TENANT, URL, FakeArm
from tests.support.provider_calls import details_of, left_behind, metadata_of

GROUP = "azure-native:resources:ResourceGroup"
STORAGE = "azure-native:storage:StorageAccount"
CONTAINERS = "azure-native:containerinstance:ContainerGroup"
GROUP_ID = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg"
INPUTS = {"resourceGroupName": "rg", "location": "westeurope", "tags": {"team": "a"}, "azureApiVersion": "2024-03-01"}
CONTAINER_INPUTS = {
    "resourceGroupName": "rg",
    "containerGroupName": "cg",
    "location": "westeurope",
    "osType": "Linux",
    "restartPolicy": "Never",
    "identity": {"type": "UserAssigned", "userAssignedIdentities": ["/subscriptions/s/x"]},
    "containers": [
        {
            "name": "main",
            "image": "r.azurecr.io/i:1",
            "resources": {"requests": {"cpu": 4, "memoryInGB": 12.5, "gpu": {"count": 1, "sku": "V100"}}},
            "environmentVariables": [{"name": "PLAIN", "value": "x"}, {"name": "HIDDEN", "secureValue": "do-not-print-me"}],
        }
    ],
}


def test_a_created_resource_is_put_in_arms_form_and_kept_in_the_sdks(engine: AzureEngine, arm: FakeArm) -> None:
    created = engine.create(CONTAINERS, CONTAINER_INPUTS)
    (body,) = arm.sent("PUT")
    assert body["properties"]["containers"][0]["properties"]["resources"]["requests"]["cpu"] == 4
    assert isinstance(body["properties"]["containers"][0]["properties"]["resources"]["requests"]["gpu"]["count"], int)
    assert body["identity"]["userAssignedIdentities"] == {"/subscriptions/s/x": {}}
    outputs = from_struct(created.properties)
    assert created.id == f"{GROUP_ID}/providers/Microsoft.ContainerInstance/containerGroups/cg"
    assert outputs["containers"][0]["image"] == "r.azurecr.io/i:1"
    assert outputs["azureApiVersion"] == "2024-05-01-preview"
    assert outputs["provisioningState"] == "Succeeded"
    assert [method for method, *_ in arm.requests] == ["GET", "PUT", "GET"]


def test_what_is_there_already_is_not_created_again(engine: AzureEngine, arm: FakeArm) -> None:
    engine.create(GROUP, INPUTS)
    refused = failure(engine.create, GROUP, INPUTS)
    assert f"cannot create already existing resource '{GROUP_ID}'" in details_of(refused)
    assert "pulumi import" in details_of(refused)
    assert len(arm.sent("PUT")) == 1


def test_a_read_after_a_create_finds_the_same_inputs_and_outputs(engine: AzureEngine) -> None:
    created = engine.create(CONTAINERS, CONTAINER_INPUTS)
    outputs = from_struct(created.properties)
    read = engine.read(CONTAINERS, created.id, CONTAINER_INPUTS, outputs)
    assert from_struct(read.inputs) == CONTAINER_INPUTS
    assert from_struct(read.properties) == outputs


def test_a_change_made_in_azure_shows_in_the_inputs_and_only_there(engine: AzureEngine, arm: FakeArm) -> None:
    created = engine.create(GROUP, INPUTS)
    (resource,) = arm.resources.values()
    resource["tags"] = {"team": "b"}
    read = engine.read(GROUP, created.id, INPUTS, from_struct(created.properties))
    assert from_struct(read.inputs) == {**INPUTS, "tags": {"team": "b"}}


def test_a_resource_that_is_gone_reads_as_no_id(engine: AzureEngine) -> None:
    assert engine.read(GROUP, GROUP_ID, INPUTS, INPUTS).id == ""


def test_an_import_reads_the_inputs_from_id_and_body(engine: AzureEngine) -> None:
    created = engine.create(CONTAINERS, CONTAINER_INPUTS)
    inputs = from_struct(engine.read(CONTAINERS, created.id).inputs)
    assert inputs == {**CONTAINER_INPUTS, "azureApiVersion": "2024-05-01-preview"}


def test_an_id_of_another_type_is_refused_by_an_import(engine: AzureEngine, arm: FakeArm) -> None:
    engine.create(GROUP, INPUTS)
    with pytest.raises(grpc.RpcError, match=r"is not the id of a Microsoft\.Storage/storageAccounts"):
        engine.read(STORAGE, GROUP_ID)


def test_an_update_puts_the_whole_body(engine: AzureEngine, arm: FakeArm) -> None:
    created = engine.create(GROUP, INPUTS)
    updated = engine.update(GROUP, created.id, INPUTS, {**INPUTS, "tags": {"team": "c"}})
    assert from_struct(updated.properties)["tags"] == {"team": "c"}
    assert arm.sent("PUT")[-1] == {"location": "westeurope", "tags": {"team": "c"}}


def test_deleting_what_is_gone_is_no_error(engine: AzureEngine) -> None:
    created = engine.create(GROUP, INPUTS)
    engine.delete(GROUP, created.id)
    engine.delete(GROUP, created.id)


def test_a_preview_sends_nothing_and_marks_what_azure_will_set_as_unknown(offline: AzureEngine) -> None:
    outputs = from_struct(offline.create(CONTAINERS, CONTAINER_INPUTS, preview=True).properties)
    assert outputs["location"] == "westeurope"
    assert outputs["instanceView"] == outputs["provisioningState"] == outputs["containers"][0]["instanceView"] == UNKNOWN
    assert "resourceGroupName" not in outputs
    updated = from_struct(offline.update(GROUP, GROUP_ID, {**INPUTS, "name": "rg"}, INPUTS, preview=True).properties)
    assert updated["name"] == "rg"


def test_a_refusal_is_told_in_azures_form_with_its_details(engine: AzureEngine) -> None:
    containers = [{"name": "main", "resources": {"requests": {"memoryInGB": 1, "cpu": 1}}, "bogus": 1}]
    refused = failure(engine.create, CONTAINERS, {**CONTAINER_INPUTS, "containers": containers})
    assert details_of(refused).startswith('Status=400 Code="InvalidRequestContent" Message="The request content was invalid."')
    assert ".properties.containers[0].properties.bogus: unknown" in details_of(refused)
    assert "grpc-status-details-bin" not in metadata_of(refused), "nothing is left behind"


def test_throttling_is_waited_out(engine: AzureEngine, arm: FakeArm) -> None:
    arm.faults.append("throttle")
    engine.create(GROUP, INPUTS)
    assert arm.faults == []
    assert engine.time.now == 1, "as Retry-After says"


def test_an_answer_that_was_lost_once_is_asked_for_again(engine: AzureEngine, arm: FakeArm) -> None:
    arm.faults.append("lose-answer")
    engine.create(GROUP, INPUTS)
    assert len(arm.sent("PUT")) == 2


def test_answers_that_stay_lost_leave_a_partial_resource_that_an_update_completes(engine: AzureEngine, arm: FakeArm) -> None:
    arm.faults.append("lose-always")
    failed = left_behind(failure(engine.create, GROUP, INPUTS))
    assert failed.id == GROUP_ID
    assert from_struct(failed.inputs) == INPUTS
    assert "the connection to Azure was lost" in failed.reasons[0]
    arm.faults.clear()
    completed = engine.update(GROUP, failed.id, from_struct(failed.properties), INPUTS)
    assert from_struct(completed.properties)["tags"] == {"team": "a"}


def test_a_lost_answer_and_then_a_conflict_leave_a_partial_resource(engine: AzureEngine, arm: FakeArm) -> None:
    arm.faults.extend(["lose-answer", "conflict"])
    failed = left_behind(failure(engine.create, GROUP, INPUTS))
    assert failed.id == GROUP_ID
    assert 'Code="AnotherOperationInProgress"' in failed.reasons[0]


def test_a_resource_that_was_put_and_cannot_be_read_back_is_kept(engine: AzureEngine, arm: FakeArm) -> None:
    arm.faults.append("fail-read")
    failed = left_behind(failure(engine.create, GROUP, INPUTS))
    assert failed.id == GROUP_ID
    assert from_struct(failed.properties)["tags"] == {"team": "a"}
    assert 'Code="AuthorizationFailed"' in failed.reasons[0]


def test_an_operation_that_fails_leaves_a_partial_resource_with_azures_reason(engine: AzureEngine, arm: FakeArm) -> None:
    arm.faults.append("fail-operation")
    failed = left_behind(failure(engine.create, CONTAINERS, CONTAINER_INPUTS))
    assert failed.id.endswith("/containerGroups/cg")
    assert 'Code="InaccessibleImage"' in failed.reasons[0]
    assert from_struct(failed.properties)["provisioningState"] == "Failed"


def test_cancelling_ends_the_wait_and_keeps_the_resource(engine: AzureEngine, arm: FakeArm) -> None:
    arm.faults.append("never-finish")
    engine.time.waited = lambda _: engine.stub.Cancel(Empty())
    assert left_behind(failure(engine.create, CONTAINERS, CONTAINER_INPUTS)).id.endswith("/containerGroups/cg")
    assert engine.time.now == 1


def test_an_operation_that_takes_longer_than_the_resources_timeout_leaves_a_partial_resource(
    engine: AzureEngine, arm: FakeArm
) -> None:
    arm.faults.append("never-finish")
    properties = to_struct(CONTAINER_INPUTS)
    assert (
        "within the resource's timeout"
        in left_behind(
            failure(
                engine.stub.Create, provider_pb2.CreateRequest(urn=engine.urn(CONTAINERS), properties=properties, timeout=600)
            )
        ).reasons[0]
    )
    assert engine.time.now == 600


def test_a_wrong_client_secret_is_one_clear_message(engine: AzureEngine) -> None:
    engine.configure(**{**configuration(), "clientSecret": "wrong"})
    with pytest.raises(grpc.RpcError, match="AADSTS7000215"):
        engine.create(GROUP, INPUTS)


def test_no_secret_is_told_when_things_fail(
    engine: AzureEngine, arm: FakeArm, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(0)
    told: list[str] = []
    for fault in ("fail-operation", "refuse"):
        arm.faults.append(fault)
        told.append(details_of(failure(engine.create, CONTAINERS, {**CONTAINER_INPUTS, "containerGroupName": fault})))
    assert "do-not-print-me" in str(arm.sent("PUT")), "the secret went to ARM"
    shown = "".join([*told, caplog.text, *capfd.readouterr()])
    assert "do-not-print-me" not in shown
    assert SECRET not in shown


def test_an_azure_that_is_not_running_is_one_clear_message(offline: AzureEngine) -> None:
    with pytest.raises(grpc.RpcError, match=rf"{URL}/metadata/endpoints doesn't answer .* nothing listens there"):
        offline.create(GROUP, INPUTS)


def test_one_sign_in_serves_many_requests(engine: AzureEngine, arm: FakeArm) -> None:
    for number in range(5):
        engine.create(GROUP, {**INPUTS, "resourceGroupName": f"rg{number}"})
    assert arm.tokens == 1


def test_the_functions_answer_what_the_programs_ask(engine: AzureEngine) -> None:
    engine.create(GROUP, INPUTS)
    assert engine.invoke("azure-native:authorization:getClientConfig") == {
        "clientId": CLIENT,
        "objectId": PRINCIPAL,
        "subscriptionId": SUBSCRIPTION,
        "tenantId": TENANT,
    }
    found = engine.invoke("azure-native:resources:getResourceGroup", resourceGroupName="rg")
    assert (found["id"], found["location"]) == (GROUP_ID, "westeurope")
    keys = engine.invoke("azure-native:operationalinsights:getSharedKeys", resourceGroupName="rg", workspaceName="w")
    assert keys["primarySharedKey"] == "one"
    cluster = {"resourceGroupName": "rg", "resourceName": "gpu"}
    found = engine.invoke("azure-native:containerservice:listManagedClusterUserCredentials", format="exec", **cluster)
    assert found == {"kubeconfigs": [{"name": "clusterUser", "value": "exec"}]}


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


def test_a_type_that_is_not_declared_is_refused_by_name(engine: AzureEngine) -> None:
    with pytest.raises(grpc.RpcError, match="'azure-native:sql:Server' is not implemented"):
        engine.check("azure-native:sql:Server", {})
