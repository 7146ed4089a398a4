"""Online deployments that run: the real inference server in each instance, requests shared among them, changes under load."""

import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.localazure.conftest import new_group
from tests.localazure.ml.online_world import Endpoint, Load, World
from tests.support import ml_resources as ml
from tests.support.embedded import EmbeddedAzure, until

SETTINGS: dict[str, Any] = {"requestSettings": {"maxConcurrentRequestsPerInstance": 20, "requestTimeout": "PT20S"}}


@pytest.fixture(scope="module")
def world(azure: EmbeddedAzure) -> Iterator[World]:
    made = World(azure, new_group(azure))
    made.let_read()
    yield made
    answer = azure.delete(made.group, "2024-03-01")
    assert azure.finished(answer)["status"] == "Succeeded"
    assert not list((azure.state / "ml-endpoints" / "files").iterdir())


@pytest.fixture(scope="module")
def both(world: World) -> Endpoint:
    """`blue` of the first model and `green` of the second; a test that changes more has an endpoint of its own."""
    made = world.endpoint()
    answers = [made.try_deploy("blue", **SETTINGS), made.try_deploy("green", version="2", **SETTINGS)]
    for answer in answers:
        ml.done(world.azure, answer)
    return made


@pytest.fixture(scope="module")
def pair(world: World) -> Endpoint:
    """`blue` with two instances."""
    made = world.endpoint()
    made.deploy("blue", instances=2, **SETTINGS)
    made.share(blue=100)
    return made


def scored(client: httpx.Client, endpoint: Endpoint, asked: Any = None, **headers: str) -> dict[str, Any]:
    answer = client.post(endpoint.uri, json=asked or {"echo": 1}, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def pid_of(endpoint: Endpoint, deployment: str) -> int:
    """The process of the deployment's first container."""
    for state in (endpoint.azure.state / "ml-endpoints" / "containers").glob("*/instance-1/state.json"):
        spec = json.loads(state.with_name("spec.json").read_text())
        if spec["env"]["ANSWER"] == deployment and f"/{endpoint.name}/" in (state.parents[1] / "group.json").read_text():
            return int(json.loads(state.read_text())["pid"])
    raise AssertionError(f"{deployment} doesn't run")


def test_the_inference_server_answers_with_model_code_and_variables(both: Endpoint) -> None:
    both.share(blue=100)
    with both.client() as client:
        answer = client.post(both.uri, json={"echo": "é"})
        assert answer.json()["echo"] == "é"
        assert (answer.json()["answer"], answer.json()["weights"]) == ("blue", "one")
        assert answer.headers["azureml-model-deployment"] == "blue"
        assert answer.headers["x-ms-server-version"] == "azmlinfsrv/1.5.1"
        assert scored(client, both, **{"azureml-model-deployment": "green"})["weights"] == "two"
        shown = client.get(both.uri.replace("/score", "/swagger.json"))
        assert shown.json()["swagger"] == "2.0"
    assert "init was called" in both.log("blue")
    assert both.log("blue", tail=1).count("\n") < both.log("blue").count("\n")
    assert "Downloaded 1 files of the model" in both.log("blue", containerType="StorageInitializer")


def test_mirroring_doubles_the_load_of_half_the_requests_and_changes_no_answer(both: Endpoint) -> None:
    both.share(blue=100)
    before = both.log("green").count('"POST /score HTTP')
    ml.done(both.azure, both.world.try_endpoint(both.name, traffic={"blue": 100, "green": 0}, mirrorTraffic={"green": 50}))
    with both.client() as client:
        assert {scored(client, both)["answer"] for _ in range(100)} == {"blue"}
    until(lambda: both.log("green").count('"POST /score HTTP') - before == 50, "green has got the copies")
    for traffic, mirror, words in (
        ({"blue": 100}, {"green": 51}, "a percentage of mirrored traffic"),
        ({"blue": 90, "green": 10}, {"green": 10}, "can't get both"),
        ({"blue": 90}, {}, "add up to 90 percent"),
        ({"blue": 100}, {"green": 10, "blue": 10}, "to one deployment"),
        ({}, {"green": 10}, "no live traffic"),
    ):
        answer = both.world.try_endpoint(both.name, traffic=traffic, mirrorTraffic=mirror)
        assert words in ml.refused(answer)[2]
    answer = both.azure.delete(both.world.path(both.name, "green"), ml.ML)
    assert "50 percent of the endpoint's mirrorTraffic" in ml.refused(answer)[2]
    ml.done(both.azure, both.world.try_endpoint(both.name))
    assert both.azure.get(both.path, ml.ML).json()["properties"]["mirrorTraffic"] == {}


def test_promoting_and_rolling_back_loses_no_request(both: Endpoint) -> None:
    both.share(blue=100)
    with Load(both) as load:
        both.share(blue=0, green=100)
        load.more()
        both.share(blue=100, green=0)
        load.more()
    assert set(load.statuses()) == {200}
    assert {answer for _, answer in load.answers} == {"blue", "green"}


def test_a_killed_container_costs_at_most_the_requests_that_it_had(pair: Endpoint) -> None:
    with Load(pair) as load:
        os.kill(pid_of(pair, "blue"), signal.SIGKILL)
        load.more(100)
    lost = sum(count for status, count in load.statuses().items() if status != 200)
    assert set(load.statuses()) <= {200, 502, 0}  # 0: the connection breaks where its answer had begun
    assert lost <= 4  # as many as there are clients
    until(lambda: pair.log("blue").count("UserContainerStart: Succeeded") == 2, "it runs again")


@pytest.mark.slow
def test_an_update_a_scaling_and_a_deletion_lose_no_request(pair: Endpoint) -> None:
    azure, path = pair.azure, pair.world.path(pair.name, "blue")
    with Load(pair, clients=2) as load:
        pair.deploy("blue", instances=2, **SETTINGS, environmentVariables={"ANSWER": "newer"})
        load.more()
        scaled = azure.patch(path, {"sku": {"name": "Default", "capacity": 1}}, ml.ML)
        assert ml.done(azure, scaled)["sku"]["capacity"] == 1
        load.more()
        pair.deploy("blue", instances=2, **SETTINGS, environmentVariables={"ANSWER": "newer"})
        load.more()
    assert set(load.statuses()) == {200}
    assert {answer for _, answer in load.answers} == {"blue", "newer"}
    assert "gets 100 percent" in ml.refused(azure.delete(path, ml.ML))[2]
    pair.share(blue=0)
    with pair.client() as client, ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(scored, client, pair, {"sleep": 1.0, "echo": "last"}, **{"azureml-model-deployment": "blue"})
        until(lambda: "it sleeps" in pair.log("blue"), "the request is under way")
        pair.delete("blue")
        assert under_way.result()["echo"] == "last"
    assert azure.get(pair.path, ml.ML).json()["properties"]["traffic"] == {}  # nobody is named that isn't there
    folder = Path(azure.state / "ml-endpoints")
    assert not [each for each in (folder / "logs").iterdir() if pair.name in each.name]


@pytest.mark.slow
def test_a_failed_update_leaves_the_deployment_serving_and_says_why(both: Endpoint) -> None:
    both.share(blue=100)
    error = both.failure("blue", **SETTINGS, environmentVariables={"FAIL_INIT": "1"})
    assert error["code"] == "ResourceNotReady"
    assert "User container has crashed or terminated" in error["message"]
    assert "told to fail in init" in both.log("blue")
    with both.client() as client:
        assert scored(client, both)["answer"] == "blue"


def test_a_token_of_the_endpoint_and_one_of_entra_open_it(world: World, both: Endpoint) -> None:
    by_token, by_entra = world.endpoint(auth="AMLToken"), world.endpoint(auth="AADToken")
    token = world.azure.post(f"{by_token.path}/token", ml.ML).json()["accessToken"]
    entra = world.azure.token("https://ml.azure.com/.default")
    arm = world.azure.token()
    for endpoint, given, code in (
        (by_token, token, "NoDeploymentWithTraffic"),  # let in
        (by_token, f"{token}x", "key_auth_access_denied"),
        (by_token, entra, "key_auth_access_denied"),
        (by_entra, entra, "NoDeploymentWithTraffic"),
        (by_entra, arm, "key_auth_access_denied"),
        (by_entra, token, "key_auth_access_denied"),
        (both, entra, "key_auth_access_denied"),
    ):
        with endpoint.client(given) as client:
            answer = client.post(endpoint.uri, json={})
            assert answer.json()["error"]["code"] == code


def test_a_deployment_that_failed_stays_gets_no_traffic_and_is_deleted(world: World) -> None:
    body, stranger = world.endpoint_body(), ml.put_identity(world.azure, world.group)["id"]
    body["identity"]["userAssignedIdentities"] = {stranger: {}}
    one = Endpoint(world, ml.done(world.azure, world.azure.put(world.path("of-a-stranger"), body, ml.ML)))
    error = one.failure("blue")
    assert error["code"] == "BadArgument"
    name = stranger.rsplit("/", 1)[1]
    assert f"the identity {name} may not read the model. It needs the role Storage Blob Data Reader" in error["message"]
    assert "AuthorizationPermissionMismatch" in one.log("blue", containerType="StorageInitializer")
    body["properties"]["traffic"] = {"blue": 100}
    refused = ml.refused(world.azure.put(one.path, body, ml.ML))
    assert "has not been created successfully" in refused[2]
    with one.client() as client:
        answer = client.post(one.uri, json={}, headers={"azureml-model-deployment": "blue"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "DeploymentNotFound")
        assert client.post(one.uri, json={}).json()["error"]["code"] == "NoDeploymentWithTraffic"
    one.delete("blue")
    assert world.azure.get(world.path(one.name, "blue"), ml.ML).status_code == 404
