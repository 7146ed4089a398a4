"""Microsoft's azure-ai-ml drives online endpoints: made, deployed, shared out, invoked, read, updated and deleted.

A deployment of local files has YAML of the form of azureml-examples, cli/endpoints/online/managed/sample, read 2026-11-24.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.localazure.conftest import new_group
from tests.localazure.ml.online_world import CONDA, SCORE, SIZE, World
from tests.support import azure_ai_ml
from tests.support.embedded import ServedAzure

pytestmark = pytest.mark.slow  # the client takes seconds to load, and polls every few


FILES = {
    "sample/blue-deployment.yml": f"""
$schema: https://azuremlschemas.azureedge.net/latest/managedOnlineDeployment.schema.json
name: blue
endpoint_name: by-client
model:
  path: ../model/files/
code_configuration:
  code: ../model/onlinescoring/
  scoring_script: score.py
environment:
  conda_file: ../model/environment/conda.yaml
  image: mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu22.04:latest
environment_variables: {{ANSWER: blue, WEIGHTS: files/weights.txt}}
request_settings: {{request_timeout_ms: 20000, max_concurrent_requests_per_instance: 4}}
instance_type: {SIZE}
instance_count: 1
""",
    "model/environment/conda.yaml": CONDA,
    "model/files/weights.txt": "seven",
    "model/onlinescoring/score.py": SCORE,
    "request.json": '{"echo": 7}',
}
SCRIPT = """
from azure.ai.ml import load_online_deployment
from azure.ai.ml.entities import (
    CodeConfiguration, IdentityConfiguration, ManagedIdentityConfiguration, ManagedOnlineDeployment, ManagedOnlineEndpoint,
)
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

name = given["name"]
identity = IdentityConfiguration(
    type="user_assigned", user_assigned_identities=[ManagedIdentityConfiguration(resource_id=given["identity"])]
)
endpoint = ManagedOnlineEndpoint(name=name, auth_mode="key", identity=identity, tags={"made": "by a client"})
made = client.online_endpoints.begin_create_or_update(endpoint).result()
found["made"] = [made.name, made.auth_mode, made.provisioning_state, made.scoring_uri, made.traffic]

of_files = load_online_deployment(given["folder"] + "/sample/blue-deployment.yml")
blue = client.online_deployments.begin_create_or_update(of_files).result()
found["blue"] = [blue.name, blue.instance_count, blue.provisioning_state, blue.request_settings.request_timeout_ms]
found["code"] = blue.code_configuration.code
made = client.online_endpoints.get(name)
found["no_traffic_yet"] = made.traffic
made.traffic = {"blue": 100}
found["shared"] = client.online_endpoints.begin_create_or_update(made).result().traffic

request = given["folder"] + "/request.json"
found["answer"] = json.loads(client.online_endpoints.invoke(name, request_file=request))
green = ManagedOnlineDeployment(
    name="green", endpoint_name=name, model=given["model"], environment=given["environment"],
    code_configuration=CodeConfiguration(code=given["code"], scoring_script="score.py"),
    environment_variables={"ANSWER": "green", "WEIGHTS": "second/weights.txt"}, instance_type=given["size"], instance_count=1,
)
client.online_deployments.begin_create_or_update(green).result()
found["by_name"] = json.loads(client.online_endpoints.invoke(name, request_file=request, deployment_name="green"))
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


def test_azure_ai_ml_drives_an_endpoint_from_its_creation_to_its_deletion(world: World, tmp_path: Path) -> None:
    name = "by-client"
    for file, content in FILES.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(content)
    assert isinstance(world.azure, ServedAzure)
    found = azure_ai_ml.run(
        world.azure,
        world.workspace,
        SCRIPT,
        name=name,
        folder=str(tmp_path),
        identity=world.identity["id"],
        model=world.models["2"],
        environment=world.environment,
        code=world.code,
        size=SIZE,
    )
    uri = f"{world.azure.url}/ml/westeurope/{name}/score"
    assert found["made"] == [name, "key", "Succeeded", uri, {}]
    assert found["blue"] == ["blue", 1, "Succeeded", 20000]
    assert "/codes/" in found["code"]
    assert found["no_traffic_yet"] == {"blue": 0}
    assert found["shared"] == {"blue": 100}
    assert (found["answer"]["answer"], found["answer"]["weights"], found["answer"]["echo"]) == ("blue", "seven", 7)
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
