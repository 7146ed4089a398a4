"""Microsoft's azure-ai-ml drives online endpoints: made, deployed, shared out, invoked, read, updated and deleted."""

from collections.abc import Iterator

import pytest

from tests.localazure.conftest import new_group
from tests.localazure.ml.online_world import SIZE, World
from tests.support import azure_ai_ml
from tests.support.embedded import ServedAzure

pytestmark = pytest.mark.slow  # the client takes seconds to load, and polls every few


SCRIPT = """
import tempfile
from azure.ai.ml.entities import (
    CodeConfiguration, IdentityConfiguration, ManagedIdentityConfiguration, ManagedOnlineDeployment, ManagedOnlineEndpoint,
    OnlineRequestSettings,
)
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

name = given["name"]
identity = IdentityConfiguration(
    type="user_assigned", user_assigned_identities=[ManagedIdentityConfiguration(resource_id=given["identity"])]
)
endpoint = ManagedOnlineEndpoint(name=name, auth_mode="key", identity=identity, tags={"made": "by a client"})
made = client.online_endpoints.begin_create_or_update(endpoint).result()
found["made"] = [made.name, made.auth_mode, made.provisioning_state, made.scoring_uri, made.traffic]


def deployment(which, version, instances=1):
    return ManagedOnlineDeployment(
        name=which, endpoint_name=name, model=given["models"][version], environment=given["environment"],
        code_configuration=CodeConfiguration(code=given["code"], scoring_script="score.py"),
        environment_variables={"ANSWER": which, "WEIGHTS": given["weights"][version]},
        instance_type=given["size"], instance_count=instances,
        request_settings=OnlineRequestSettings(request_timeout_ms=20000, max_concurrent_requests_per_instance=4),
    )


blue = client.online_deployments.begin_create_or_update(deployment("blue", "1")).result()
found["blue"] = [blue.name, blue.instance_count, blue.provisioning_state, blue.request_settings.request_timeout_ms]
made = client.online_endpoints.get(name)
found["no_traffic_yet"] = made.traffic
made.traffic = {"blue": 100}
found["shared"] = client.online_endpoints.begin_create_or_update(made).result().traffic

with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
    file.write('{"echo": 7}')
found["answer"] = json.loads(client.online_endpoints.invoke(name, request_file=file.name))
client.online_deployments.begin_create_or_update(deployment("green", "2")).result()
found["by_name"] = json.loads(client.online_endpoints.invoke(name, request_file=file.name, deployment_name="green"))
found["listed"] = sorted(each.name for each in client.online_deployments.list(name))
found["endpoints"] = [each.name for each in client.online_endpoints.list()]
found["logs"] = client.online_deployments.get_logs("blue", name, 200)
found["initializer"] = client.online_deployments.get_logs("blue", name, 50, container_type="storage-initializer")

made = client.online_endpoints.get(name)
made.traffic, made.mirror_traffic = {"blue": 100}, {"green": 10}
mirrored = client.online_endpoints.begin_create_or_update(made).result()
found["mirrored"] = [mirrored.traffic, mirrored.mirror_traffic]
made = client.online_endpoints.get(name)
made.traffic, made.mirror_traffic = {"blue": 90, "green": 10}, {}
found["ninety"] = client.online_endpoints.begin_create_or_update(made).result().traffic
keys = client.online_endpoints.get_keys(name)
before = keys.primary_key
client.online_endpoints.begin_regenerate_keys(name, key_type="primary").result()
after = client.online_endpoints.get_keys(name)
found["keys"] = [len(before) >= 32, before != after.primary_key, keys.secondary_key == after.secondary_key]
signed_on = ManagedOnlineEndpoint(name=f"{name}-token", auth_mode="aad_token", identity=identity)
made = client.online_endpoints.begin_create_or_update(signed_on).result()
found["token"] = [made.auth_mode, bool(client.online_endpoints.get_keys(made.name).access_token)]
client.online_endpoints.begin_delete(made.name).result()
try:
    client.online_deployments.begin_delete("green", name).result()
except HttpResponseError as error:
    found["refused"] = [error.status_code, str(error.error.code)]
made = client.online_endpoints.get(name)
made.traffic = {"blue": 100, "green": 0}
client.online_endpoints.begin_create_or_update(made).result()
client.online_deployments.begin_delete("green", name).result()
client.online_endpoints.begin_delete(name).result()
try:
    client.online_endpoints.get(name)
except ResourceNotFoundError as error:
    found["gone"] = error.status_code
"""


@pytest.fixture(scope="module")
def world(azure: ServedAzure) -> Iterator[World]:
    made = World(azure, new_group(azure))
    made.let_read()
    yield made
    answer = azure.delete(made.group, "2024-03-01")
    assert azure.finished(answer)["status"] == "Succeeded"


def test_azure_ai_ml_drives_an_endpoint_from_its_creation_to_its_deletion(world: World) -> None:
    name = "by-client"
    assert isinstance(world.azure, ServedAzure)
    found = azure_ai_ml.run(
        world.azure,
        world.workspace,
        SCRIPT,
        name=name,
        identity=world.identity["id"],
        models=world.models,
        weights={"1": "first/weights.txt", "2": "second/weights.txt"},
        environment=world.environment,
        code=world.code,
        size=SIZE,
    )
    uri = f"{world.azure.url}/ml/westeurope/{name}/score"
    assert found["made"] == [name, "key", "Succeeded", uri, {}]
    assert found["blue"] == ["blue", 1, "Succeeded", 20000]
    assert found["no_traffic_yet"] == {"blue": 0}
    assert found["shared"] == {"blue": 100}
    assert (found["answer"]["answer"], found["answer"]["weights"], found["answer"]["echo"]) == ("blue", "one", 7)
    assert (found["by_name"]["answer"], found["by_name"]["weights"]) == ("green", "two")
    assert found["listed"] == ["blue", "green"]
    assert name in found["endpoints"]
    assert "init was called" in found["logs"]
    assert "Downloaded 1 files of the model" in found["initializer"]
    assert found["mirrored"] == [{"blue": 100}, {"green": 10}]
    assert found["ninety"] == {"blue": 90, "green": 10}
    assert found["keys"] == [True, True, True]
    assert found["token"] == ["aad_token", True]
    assert found["refused"] == [400, "BadRequest"]
    assert found["gone"] == 404
