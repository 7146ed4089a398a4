"""Computes of a workspace: clusters by what the service takes on that day and its quota, and what is attached to a workspace."""

import pytest

from tests.localazure.conftest import new_group
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure
from tests.support.ml_resources import ML, REGION, T4, cluster_body, done, put_identity, put_workspace

USAGES = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.MachineLearningServices/locations"


@pytest.fixture(scope="module")
def workspace(azure: EmbeddedAzure) -> str:
    return put_workspace(azure, new_group(azure))


def test_a_cluster_has_no_node_until_it_needs_one(azure: EmbeddedAzure, workspace: str) -> None:
    found = done(azure, azure.put(f"{workspace}/computes/gpu", cluster_body(), ML))["properties"]
    assert (found["provisioningState"], found["isAttachedCompute"], found["computeLocation"]) == ("Succeeded", False, REGION)
    inner = found["properties"]
    assert inner["scaleSettings"] == {"minNodeCount": 0, "maxNodeCount": 1, "nodeIdleTimeBeforeScaleDown": "PT120S"}
    assert (inner["vmPriority"], inner["osType"], inner["allocationState"]) == ("Dedicated", "Linux", "Steady")
    assert inner["currentNodeCount"] == 0
    assert azure.post(f"{workspace}/computes/gpu/listNodes", ML).json() == {"nodes": []}
    assert [each["name"] for each in azure.get(f"{workspace}/computes", ML).json()["value"]] == ["gpu"]


def test_its_scale_changes(azure: EmbeddedAzure, workspace: str) -> None:
    path = f"{workspace}/computes/changing"
    done(azure, azure.put(path, cluster_body(), ML))
    wider = {"properties": {"properties": {"scaleSettings": {"maxNodeCount": 3, "nodeIdleTimeBeforeScaleDown": "PT15M"}}}}
    found = done(azure, azure.patch(path, wider, ML))["properties"]["properties"]
    assert found["scaleSettings"] == {"minNodeCount": 0, "maxNodeCount": 3, "nodeIdleTimeBeforeScaleDown": "PT15M"}


def test_what_the_service_took_then_it_takes_then(azure: EmbeddedAzure) -> None:
    group = new_group(azure, tags={"as-of": "2023-06-01"})
    found = put_workspace(azure, group)
    done(azure, azure.put(f"{found}/computes/old", cluster_body("Standard_NC6", vmPriority="LowPriority"), ML))


def test_the_quota_of_machine_learning_is_its_own(own_azure: EmbeddedAzure) -> None:
    azure = own_azure
    found = put_workspace(azure, new_group(azure))

    def limited(limit: int) -> None:
        done_ = azure.command("fault", "quota", "ml", REGION, "Standard NCASv3_T4 Family", str(limit))
        assert done_.returncode == 0, done_.stderr

    limited(0)
    ended = azure.finished(azure.put(f"{found}/computes/gpu", cluster_body(), ML))
    assert (ended["status"], ended["error"]["code"]) == ("Failed", "BadRequest")
    # dotnet/machinelearning-modelbuilder issue 2140
    assert "vCPU quota of 0 and cannot accomodate for at least 1 requested managed compute node" in ended["error"]["message"]
    assert azure.get(f"{found}/computes/gpu", ML).json()["properties"]["provisioningState"] == "Failed"
    listed = azure.get(f"{USAGES}/{REGION}/usages", ML).json()["value"]
    (row,) = (each for each in listed if each["name"]["value"] == "StandardNCASv3_T4Family" and each["type"].count("dedicated"))
    assert row["limit"] == 0
    limited(4)
    body = cluster_body(scaleSettings={"minNodeCount": 2, "maxNodeCount": 2})
    ended = azure.finished(azure.put(f"{found}/computes/two", body, ML))
    # MicrosoftDocs/mslearn-aml-labs issue 8
    assert "min nodes of 2 which maps to 8 vCPUs" in ended["error"]["message"]
    done(azure, azure.put(f"{found}/computes/gpu", cluster_body(), ML))


def test_a_machine_is_attached_with_an_account_whose_secret_never_comes_back(azure: EmbeddedAzure, workspace: str) -> None:
    account = {"username": "azureuser", "privateKeyData": "-----BEGIN SECRET-----"}
    body = {
        "location": REGION,
        "properties": {"computeType": "VirtualMachine", "properties": {"address": "10.0.0.4", "administratorAccount": account}},
    }
    path = f"{workspace}/computes/machine"
    answer = azure.put(path, body, ML)
    found = done(azure, answer)["properties"]
    assert found["isAttachedCompute"] is True
    assert found["properties"] == {"sshPort": 22, "address": "10.0.0.4", "administratorAccount": {"username": "azureuser"}}
    assert "SECRET" not in answer.text + azure.get(path, ML).text + azure.get(f"{workspace}/computes", ML).text
    done(azure, azure.put(path, {"location": REGION, "tags": {"a": "b"}, "properties": {"computeType": "VirtualMachine"}}, ML))
    detached = azure.client.delete(path, params={"api-version": ML, "underlyingResourceAction": "Detach"})
    assert azure.finished(detached)["status"] == "Succeeded"
    done(azure, azure.put(path, body, ML))
    assert azure.finished(azure.delete(path, ML))["status"] == "Succeeded", (
        "as azure-native sends it: nothing is said of the machine"
    )


def test_an_identity_of_nodes_shows_its_ids(azure: EmbeddedAzure, workspace: str) -> None:
    group = workspace.split("/providers/")[0]
    identity = put_identity(azure, group)["id"]
    path = f"{workspace}/computes/by-identity"
    attached = {"type": "UserAssigned", "userAssignedIdentities": {identity: {}}}
    found = done(azure, azure.put(path, {**cluster_body(T4), "identity": attached}, ML))
    assert set(found["identity"]["userAssignedIdentities"][identity]) == {"principalId", "clientId"}
