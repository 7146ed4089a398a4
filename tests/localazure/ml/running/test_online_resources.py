"""Online endpoints and deployments as ARM's resources: what is answered, and what is refused before anything runs."""

from collections.abc import Iterator
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest

from localazure.arm.errors import ArmError
from localazure.arm.kind import Change
from localazure.arm.store import Resource
from localazure.kinds import ml_online_endpoints
from tests.localazure.conftest import new_group
from tests.localazure.ml.online_world import Endpoint, World
from tests.localazure.parts import arm_id
from tests.support import ml_resources as ml
from tests.support.embedded import EmbeddedAzure

TAKEN = "is taken in the region westeurope"


@pytest.fixture(scope="module")
def world(azure: EmbeddedAzure) -> Iterator[World]:
    """Nothing runs in it: its identity may read nothing."""
    made = World(azure, new_group(azure))
    yield made
    answer = azure.delete(made.group, "2024-03-01")
    assert azure.finished(answer)["status"] == "Succeeded"


@pytest.fixture(scope="module")
def endpoint(world: World) -> Endpoint:
    return world.endpoint()


def refusal(answer: Any) -> str:
    status, _, message = ml.refused(answer)
    assert status == 400
    return message


def test_a_deployment_that_is_being_deleted_gets_no_traffic_any_more() -> None:
    workspace = "/subscriptions/s/resourceGroups/g/providers/Microsoft.MachineLearningServices/workspaces/w"
    endpoint, leaving = arm_id(f"{workspace}/onlineEndpoints/e"), arm_id(f"{workspace}/onlineEndpoints/e/deployments/blue")
    store = SimpleNamespace(of_type=lambda *_: [Resource(id=leaving, body={}, state="Deleting")])
    services: Any = SimpleNamespace(store=store)
    endpoints: Any = SimpleNamespace(serves=lambda _: True)
    given = {"properties": {"traffic": {"blue": 100}}}
    change = Change(id=endpoint, body=given, previous=None, as_of=date(2026, 11, 22), services=services)
    with pytest.raises(ArmError, match="The deployment 'blue' is being deleted"):
        ml_online_endpoints._check_traffic(change, endpoints)


def test_an_endpoint_is_answered_with_its_addresses_and_without_its_keys(world: World) -> None:
    given = {"primaryKey": "p" * 40, "secondaryKey": "s" * 40}
    one = world.endpoint(keys=given, description="for tests")
    shown = world.azure.get(one.path, ml.ML).json()
    properties = shown["properties"]
    assert properties["scoringUri"] == f"{world.azure.url}/ml/westeurope/{one.name}/score"
    assert properties["swaggerUri"] == f"{world.azure.url}/ml/westeurope/{one.name}/swagger.json"
    assert "keys" not in properties
    assert (properties["traffic"], properties["mirrorTraffic"], properties["publicNetworkAccess"]) == ({}, {}, "Enabled")
    assert one.keys() == given
    assert shown["systemData"]["createdAt"]
    listed = world.azure.get(f"{world.workspace}/onlineEndpoints", ml.ML).json()["value"]
    assert shown in listed


def test_keys_are_long_and_made_anew_one_at_a_time(endpoint: Endpoint) -> None:
    before = endpoint.keys()
    assert all(len(key) >= 32 for key in before.values())
    answer = endpoint.azure.post(f"{endpoint.path}/regenerateKeys", ml.ML, {"keyType": "Secondary"})
    assert answer.status_code == 202
    assert endpoint.azure.finished(answer)["status"] == "Succeeded"
    after = endpoint.keys()
    assert after["primaryKey"] == before["primaryKey"]
    assert after["secondaryKey"] != before["secondaryKey"]


def test_a_token_is_for_an_endpoint_that_has_tokens(world: World) -> None:
    by_token = world.endpoint(auth="AMLToken")
    token = world.azure.post(f"{by_token.path}/token", ml.ML).json()
    assert token["tokenType"] == "Bearer"
    assert token["expiryTimeUtc"] > token["refreshAfterTimeUtc"] > 1_700_000_000


def test_an_endpoints_name_is_unique_in_its_region(world: World, endpoint: Endpoint) -> None:
    other = ml.put_workspace(world.azure, world.group)
    path = f"{other}/onlineEndpoints/{endpoint.name.upper()}"
    assert TAKEN in refusal(world.azure.put(path, world.endpoint_body(), ml.ML))
    elsewhere = {**world.endpoint_body(), "location": "eastus"}
    made = ml.done(world.azure, world.azure.put(path, elsewhere, ml.ML))
    assert made["properties"]["scoringUri"] == f"{world.azure.url}/ml/eastus/{endpoint.name}/score"


def test_what_an_endpoint_is_stays_and_a_patch_leaves_its_properties_alone(world: World, endpoint: Endpoint) -> None:
    body = world.endpoint_body()
    body["properties"]["authMode"] = "AADToken"
    assert ml.done(world.azure, world.azure.put(endpoint.path, body, ml.ML))["properties"]["authMode"] == "AADToken"
    changed = world.azure.patch(endpoint.path, {"tags": {"a": "b"}}, ml.ML)
    assert ml.done(world.azure, changed)["tags"] == {"a": "b"}


def test_an_unknown_size_is_left_to_the_service(world: World, endpoint: Endpoint) -> None:
    world.azure.finished(endpoint.try_deploy("unknown", instanceType="Standard_ND96isr_H200_v5x"))  # it fails for another reason
    endpoint.delete("unknown")


def quota(azure: EmbeddedAzure, name: str, limit: int) -> None:
    """In a region that no other test has endpoints in."""
    fault = {"kind": "quota", "service": "ml", "location": "northeurope", "name": name, "limit": limit}
    with azure.http(headers={"Authorization": f"Bearer {azure.admin_token}"}) as client:
        assert client.put("/local/faults", json=fault).status_code == 200


def test_a_size_with_a_gpu_needs_quota_for_a_fifth_more_instances(world: World) -> None:
    name = "in-the-north"
    body = {**world.endpoint_body(), "location": "northeurope"}
    ml.done(world.azure, world.azure.put(world.path(name), body, ml.ML))

    def deploy(deployment: str) -> Any:
        body = world.deployment_body(deployment, instanceType="Standard_NC4as_T4_v3")
        return world.azure.put(world.path(name, deployment), {**body, "location": "northeurope"}, ml.ML)

    def detail(answer: Any) -> Any:
        assert ml.refused(answer)[:2] == (400, "BadRequest")
        return answer.json()["error"]["details"][0]

    quota(world.azure, "standard NCASv3_T4 Family", 7)  # 2 instances of 4 vCPUs are counted for the one
    refused = detail(deploy("blue"))
    assert refused["code"] == "InferencingClientCreateDeploymentFailed"
    assert "Not enough quota available for Standard_NC4as_T4_v3 in SubscriptionId" in refused["message"]
    assert "Current usage/limit: 0/7. Additional needed: 8" in refused["message"]
    quota(world.azure, "standard NCASv3_T4 Family", 8)
    answer = deploy("blue")
    assert answer.status_code == 201
    world.azure.finished(answer)
    assert "Current usage/limit: 8/8. Additional needed: 8" in detail(deploy("green"))["message"]


def test_a_region_has_so_many_endpoints(world: World) -> None:
    quota(world.azure, "endpoints", 0)
    answer = world.azure.put(world.path("one-too-many"), {**world.endpoint_body(), "location": "northeurope"}, ml.ML)
    assert ml.refused(answer)[:2] == (400, "InferencingClientCallFailed")
    assert "/0.Please clean up existing endpoints" in answer.json()["error"]["message"]
    quota(world.azure, "endpoints", 100)


def test_a_deployment_that_failed_stays_gets_no_traffic_and_is_deleted(world: World) -> None:
    one = world.endpoint()
    error = one.failure("blue")
    assert error["code"] == "BadArgument"
    name = world.identity["id"].rsplit("/", 1)[1]
    assert f"the identity {name} may not read the model. It needs the role Storage Blob Data Reader" in error["message"]
    assert "AuthorizationPermissionMismatch" in one.log("blue", containerType="StorageInitializer")
    assert "has not been created successfully" in refusal(world.try_endpoint(one.name, traffic={"blue": 100}))
    with one.client() as client:
        answer = client.post(one.uri, json={}, headers={"azureml-model-deployment": "blue"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "DeploymentNotFound")
        assert client.post(one.uri, json={}).json()["error"]["code"] == "NoDeploymentWithTraffic"
    one.delete("blue")
    assert world.azure.get(world.path(one.name, "blue"), ml.ML).status_code == 404
