"""`explain` of what has failed on a running embedded Azure: its requests, states, events and logs, once for each service.

Which cause follows from which of Azure's sentences is in `test_explain`.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.localazure.apps.conftest import job_name, running_azure, running_registry
from tests.localazure.apps.sdk import Apps, new_apps
from tests.localazure.conftest import new_group
from tests.localazure.containers.sdk import Groups, Registry
from tests.support import azure_clients, ml_resources as ml
from tests.support.embedded import EmbeddedAzure, ServedAzure
from tests.support.machines import Network

__all__ = ["job_name", "running_azure", "running_registry"]
pytestmark = pytest.mark.slow

BLOB_READER = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
CONDA = "dependencies:\n  - python=3.11\n  - pip:\n    - azureml-inference-server-http==1.5.1\n"
SCORE = 'def init():\n    raise RuntimeError("no weights in the folder")\n\n\ndef run(data):\n    return 1\n'

Explain = Callable[[str], dict[str, Any]]


@pytest.fixture
def azure(running_azure: ServedAzure) -> ServedAzure:
    return running_azure


@pytest.fixture
def registry(running_registry: Registry) -> Registry:
    return running_registry


@pytest.fixture(scope="module")
def apps(running_azure: ServedAzure, running_registry: Registry) -> Apps:
    return new_apps(running_azure, running_registry)


@pytest.fixture(autouse=True)
def _signed_in(azure: EmbeddedAzure, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**azure_clients.environment(azure), "REQUESTS_CA_BUNDLE": str(azure.state / "ca-bundle.pem")}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def groups(azure: EmbeddedAzure, registry: Registry) -> Groups:
    return Groups(azure, registry, new_group(azure))


def test_a_container_group_that_was_refused(groups: Groups, explain: Explain) -> None:
    groups.image = groups.image.replace("hello", "nosuch")
    groups.refusal(groups.body(groups.container()))
    told = explain(groups.path("one"))
    assert told["cause"] == "IMAGE_NOT_FOUND"
    assert groups.image in told["what"]
    assert "InaccessibleImage" in told["evidence"][0]


def test_a_container_groups_own_error(groups: Groups, explain: Explain) -> None:
    groups.create("one", groups.body(groups.container("say", "no labels in data", "exit", "4")))
    told = explain(groups.wait_for("one", "Failed")["id"])
    assert (told["cause"], told["last_lines"]) == ("PROGRAM_ERROR", ["no labels in data"])
    assert "exit code 4" in told["what"]


def test_a_jobs_own_error(apps: Apps, job_name: str, explain: Explain) -> None:
    apps.create(job_name, apps.body("say", "no data", "exit", "5"))
    execution = apps.start(job_name)
    apps.ended(job_name, execution)
    told = explain(f"{apps.job_path(job_name)}/executions/{execution}")
    assert (told["cause"], told["last_lines"]) == ("PROGRAM_ERROR", ["no data"])
    assert "exit code 5" in told["what"]


def test_a_deployment_whose_script_raises(azure: EmbeddedAzure, explain: Explain) -> None:
    group = new_group(azure)
    storage, identity = ml.put_storage(azure, group), ml.put_identity(azure, group)
    ml.give_role(azure, storage, BLOB_READER, identity["properties"]["principalId"])
    workspace = ml.put_workspace(azure, group, storageAccount=storage)
    who = {"type": "UserAssigned", "userAssignedIdentities": {identity["id"]: {}}}
    body: dict[str, Any] = {"location": "westeurope", "identity": who, "properties": {"authMode": "Key"}}
    endpoint = ml.done(azure, azure.put(f"{workspace}/onlineEndpoints/{ml.new_name('ep')}", body, ml.ML))["id"]
    serving = {"image": "mcr.microsoft.com/azureml/minimal-py312-inference:latest", "condaFile": CONDA}
    environment = ml.done(azure, azure.put(f"{workspace}/environments/e/versions/1", {"properties": serving}, ml.ML))["id"]
    ml.upload(azure, storage.rsplit("/", 1)[-1], "code", "c/score.py", SCORE.encode())
    blobs = azure.get(storage, ml.STORAGE).json()["properties"]["primaryEndpoints"]["blob"]
    uploaded = {"properties": {"codeUri": f"{blobs}code/c"}}
    code = ml.done(azure, azure.put(f"{workspace}/codes/c/versions/1", uploaded, ml.ML))["id"]
    probe = {"period": "PT1S", "failureThreshold": 90, "initialDelay": "PT1S", "timeout": "PT1S"}
    properties = {
        **{"endpointComputeType": "Managed", "instanceType": "Standard_F2s_v2", "environmentId": environment},
        **{"codeConfiguration": {"codeId": code, "scoringScript": "score.py"}, "readinessProbe": probe, "livenessProbe": probe},
    }
    body = {"location": "westeurope", "sku": {"name": "Default", "capacity": 1}, "properties": properties}
    answer = azure.put(f"{endpoint}/deployments/blue", body, ml.ML)
    assert azure.finished(answer)["status"] == "Failed"
    told = explain(f"{endpoint}/deployments/blue")
    assert (told["cause"], told["container"]) == ("SCRIPT", "inference-server")
    assert "score.py raised an exception while loading: RuntimeError: no weights in the folder" in told["what"]


def test_a_run_command_that_failed(azure: EmbeddedAzure, explain: Explain) -> None:
    machine = Network(azure, new_group(azure)).machine()
    assert explain(machine.id)["cause"] == "HEALTHY"
    machine.azure.finished(machine.command("train", "echo no labels >&2; exit 3"))
    told = explain(machine.id)
    assert (told["cause"], told["last_lines"]) == ("RUN_COMMAND", ["no labels"])
    assert "train ended with exit code 3" in told["what"]
