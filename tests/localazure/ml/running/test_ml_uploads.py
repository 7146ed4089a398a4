"""Microsoft's azure-ai-ml uploads local files: a blue and a green deployment from YAML files of the form of its samples.

The form: azureml-examples, cli/endpoints/online/managed/sample (endpoint.yml, blue-deployment.yml), read 2026-11-24.
"""

from pathlib import Path

import pytest

from tests.localazure.conftest import new_group
from tests.localazure.ml.online_world import SCORE
from tests.support import azure_ai_ml, ml_resources as ml
from tests.support.embedded import ServedAzure

pytestmark = pytest.mark.slow  # the client takes seconds to load, and polls every few


ENDPOINT = """
$schema: https://azuremlschemas.azureedge.net/latest/managedOnlineEndpoint.schema.json
name: {name}
auth_mode: key
"""
DEPLOYMENT = """
$schema: https://azuremlschemas.azureedge.net/latest/managedOnlineDeployment.schema.json
name: {color}
endpoint_name: {name}
model:
  path: ../../model/files/
code_configuration:
  code: ../../model/onlinescoring/
  scoring_script: score.py
environment:
  conda_file: ../../model/environment/conda.yaml
  image: mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu22.04:latest
environment_variables:
  ANSWER: {color}
  WEIGHTS: files/weights.txt
instance_type: Standard_DS3_v2
instance_count: 1
"""
CONDA = """
name: model-env
channels:
  - conda-forge
dependencies:
  - python=3.11
  - pip
  - pip:
      - azureml-inference-server-http==1.5.1
"""
SCRIPT = """
from azure.ai.ml import load_online_deployment, load_online_endpoint

folder, name = given["folder"], given["name"]
client.online_endpoints.begin_create_or_update(load_online_endpoint(folder + "/managed/sample/endpoint.yml")).result()
for color in ("blue", "green"):
    deployment = load_online_deployment(folder + f"/managed/sample/{color}-deployment.yml")
    made = client.online_deployments.begin_create_or_update(deployment).result()
    found[color] = [made.provisioning_state, made.model, made.code_configuration.code]
endpoint = client.online_endpoints.get(name)
endpoint.traffic = {"blue": 100}
client.online_endpoints.begin_create_or_update(endpoint).result()
request = folder + "/request.json"
found["answer"] = json.loads(client.online_endpoints.invoke(name, request_file=request))
found["other"] = json.loads(client.online_endpoints.invoke(name, deployment_name="green", request_file=request))
client.online_endpoints.begin_delete(name).result()
"""
REGISTER = """
from azure.ai.ml.entities import Model

made = client.models.create_or_update(Model(name="local", path=given["folder"] + "/model/files", type="custom_model"))
found["registered"] = [made.name, made.version, made.path]
"""


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    folder = tmp_path / "online"
    for name, content in {
        "managed/sample/endpoint.yml": ENDPOINT.format(name="by-yaml"),
        "managed/sample/blue-deployment.yml": DEPLOYMENT.format(name="by-yaml", color="blue"),
        "managed/sample/green-deployment.yml": DEPLOYMENT.format(name="by-yaml", color="green"),
        "model/environment/conda.yaml": CONDA,
        "model/files/weights.txt": "seven",
        "model/onlinescoring/score.py": SCORE,
        "request.json": '{"echo": 7}',
    }.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return folder


def _workspace(azure: ServedAzure, group: str, mode: str) -> str:
    """`mode`: how its datastores are reached, as systemDatastoresAuthMode."""
    path = f"{group}/providers/Microsoft.MachineLearningServices/workspaces/{ml.new_name('ml')}"
    return ml.done(azure, azure.put(path, ml.workspace_body(azure, group, systemDatastoresAuthMode=mode), ml.ML))["id"]


def test_local_files_of_two_deployments_are_uploaded_and_served(azure: ServedAzure, samples: Path) -> None:
    group = new_group(azure)
    workspace = _workspace(azure, group, "Identity")
    found = azure_ai_ml.run(azure, workspace, SCRIPT, folder=str(samples), name="by-yaml")
    assert [found[color][0] for color in ("blue", "green")] == ["Succeeded", "Succeeded"]
    assert all("/codes/" in found[color][2] for color in ("blue", "green"))
    assert [found["answer"][key] for key in ("answer", "weights", "echo")] == ["blue", "seven", 7]
    assert found["other"]["answer"] == "green"
    azure.finished(azure.delete(group, "2024-03-01"))


def test_a_model_of_local_files_is_uploaded_with_the_account_key(azure: ServedAzure, samples: Path) -> None:
    group = new_group(azure)
    workspace = _workspace(azure, group, "AccessKey")
    name, version, path = azure_ai_ml.run(azure, workspace, REGISTER, folder=str(samples))["registered"]
    assert (name, version) == ("local", "1")
    assert "/datastores/workspaceblobstore/paths/LocalUpload/" in path
    azure.finished(azure.delete(group, "2024-03-01"))
