"""`explain` of endpoints, machines and jobs on the embedded Azure, where each failure is planted: real servers, real refusals.

One endpoint with one environment serves all tests; each has a deployment of its own with a scoring script that fails in its way.
"""

import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

import httpx
import pytest

from tests.localazure.conftest import new_group
from tests.support import ml_resources as ml
from tests.support.embedded import EmbeddedAzure, until
from tests.support.ml_resources import ML, new_name

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("signed_in")]

ACR_PULL = "7f951dda-4ed3-4680-a7ca-43fe172d538d"
BLOB_READER = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
T4_FAMILY = "Standard NCASv3_T4 Family"
CONDA = "dependencies:\n  - python=3.11\n  - pip:\n    - azureml-inference-server-http==1.5.1\n"
WELL = "def init():\n    pass\n\n\ndef run(data):\n    return [0.1, 0.9]\n"

Explain = Callable[[str], dict[str, Any]]


class Place(NamedTuple):
    """A workspace with an endpoint whose identity may read the storage account and nothing else."""

    azure: EmbeddedAzure
    group: str
    storage: str
    workspace: str
    identity: dict[str, Any]
    endpoint: str
    environment: str

    def environment_of(self, **properties: Any) -> str:
        path = f"{self.workspace}/environments/{new_name('env')}/versions/1"
        return ml.done(self.azure, self.azure.put(path, {"properties": properties}, ML))["id"]

    def code(self, script: str) -> str:
        """A code version with this score.py."""
        name = new_name("code")
        ml.upload(self.azure, self.account, "code", f"{name}/score.py", script.encode())
        path = f"{self.workspace}/codes/{name}/versions/1"
        return ml.done(self.azure, self.azure.put(path, {"properties": {"codeUri": f"{self.blobs}code/{name}"}}, ML))["id"]

    def model(self, account: str = "") -> str:
        """A model version with one file."""
        name = new_name("model")
        ml.upload(self.azure, account or self.account, "models", f"{name}/weights", b"weights")
        uri = f"{self.blobs_of(account or self.account)}models/{name}"
        path = f"{self.workspace}/models/{name}/versions/1"
        return ml.done(self.azure, self.azure.put(path, {"properties": {"modelUri": uri, "modelType": "custom_model"}}, ML))["id"]

    @property
    def account(self) -> str:
        return self.storage.rsplit("/", 1)[-1]

    @property
    def blobs(self) -> str:
        return self.blobs_of(self.account)

    def blobs_of(self, account: str) -> str:
        path = f"{self.group}/providers/Microsoft.Storage/storageAccounts/{account}"
        return str(self.azure.get(path, ml.STORAGE).json()["properties"]["primaryEndpoints"]["blob"])

    def deploy(self, script: str = WELL, *, size: str = "Standard_F2s_v2", **properties: Any) -> tuple[str, httpx.Response]:
        """A deployment's id, and ARM's answer to its PUT."""
        path = f"{self.endpoint}/deployments/{new_name('d')}"
        given = {"endpointComputeType": "Managed", "instanceType": size, "environmentId": self.environment, **properties}
        if "codeConfiguration" not in given:
            given["codeConfiguration"] = {"codeId": self.code(script), "scoringScript": "score.py"}
        body = {"location": "westeurope", "sku": {"name": "Default", "capacity": 1}, "properties": given}
        return path, self.azure.put(path, body, ML)

    def failed(self, script: str = WELL, **properties: Any) -> str:
        """The id of a deployment that ends as Failed. Its probes leave a slow machine time to come to what fails."""
        path, answer = self.deploy(script, **{"readinessProbe": probe(90), "livenessProbe": probe(90), **properties})
        assert answer.status_code == 201, answer.text
        ended = self.azure.finished(answer)
        assert ended["status"] == "Failed", ended
        return path

    def running(self, script: str = WELL, **properties: Any) -> str:
        path, answer = self.deploy(script, **properties)
        ml.done(self.azure, answer)
        return path

    def ask(self, deployment: str) -> int:
        """The status of one request to a deployment."""
        key = self.azure.post(f"{self.endpoint}/listKeys", ML).json()["primaryKey"]
        uri = self.azure.get(self.endpoint, ML).json()["properties"]["scoringUri"]
        headers = {"Authorization": f"Bearer {key}", "azureml-model-deployment": deployment.rsplit("/", 1)[-1]}
        with self.azure.http(headers=headers) as client:
            return client.post(uri, json={}).status_code


def probe(failures: int) -> dict[str, Any]:
    """Asks each second, and gives up after as many failures."""
    return {"period": "PT1S", "failureThreshold": failures, "initialDelay": "PT1S", "timeout": "PT1S"}


@pytest.fixture(scope="module")
def place(azure: EmbeddedAzure) -> Place:
    group = new_group(azure)
    storage = ml.put_storage(azure, group)
    identity = ml.put_identity(azure, group)
    ml.give_role(azure, storage, BLOB_READER, identity["properties"]["principalId"])
    workspace = ml.put_workspace(azure, group, storageAccount=storage)
    body = {
        "location": "westeurope",
        "identity": {"type": "UserAssigned", "userAssignedIdentities": {identity["id"]: {}}},
        "properties": {"authMode": "Key"},
    }
    endpoint = ml.done(azure, azure.put(f"{workspace}/onlineEndpoints/{new_name('ep')}", body, ML))["id"]
    made = Place(azure, group, storage, workspace, identity, endpoint, "")
    image = "mcr.microsoft.com/azureml/minimal-py312-inference:latest"
    return made._replace(environment=made.environment_of(image=image, condaFile=CONDA))


def registry(place: Place) -> tuple[str, str]:
    """The id and the server of a registry without an image."""
    path = f"{place.group}/providers/Microsoft.ContainerRegistry/registries/{new_name('reg')}"
    body = {"location": "westeurope", "sku": {"name": "Basic"}}
    made = place.azure.put(path, body, "2023-01-01-preview").raise_for_status().json()
    return path, made["properties"]["loginServer"]


def test_no_right_to_pull_and_then_no_image(place: Place, explain: Explain) -> None:
    registry_id, server = registry(place)
    environment = place.environment_of(image=f"{server}/scoring:1", inferenceConfig=ROUTES)
    told = explain(place.failed(environmentId=environment, codeConfiguration=None))
    assert told["cause"] == "NO_RIGHT_TO_PULL"
    assert "the role AcrPull on the registry with the image" in told["fix"]

    ml.give_role(place.azure, registry_id, ACR_PULL, place.identity["properties"]["principalId"])
    assert explain(place.failed(environmentId=environment, codeConfiguration=None))["cause"] == "IMAGE_NOT_FOUND"


ROUTES = {
    name: {"port": 5001, "path": path}
    for name, path in (("scoringRoute", "/score"), ("livenessRoute", "/"), ("readinessRoute", "/"))
}


def test_no_right_to_read_the_model(place: Place, explain: Explain) -> None:
    other = ml.put_storage(place.azure, place.group)
    told = explain(place.failed(model=place.model(other.rsplit("/", 1)[-1])))
    assert told["cause"] == "NO_RIGHT_TO_READ"
    assert "Storage Blob Data Reader" in told["fix"]


def test_a_model_whose_files_are_gone(place: Place, explain: Explain) -> None:
    model = place.model()
    name = model.split("/models/")[1].split("/")[0]
    headers = {
        "authorization": f"Bearer {place.azure.token('https://storage.azure.com/.default')}",
        "x-ms-version": "2023-11-03",
    }
    with place.azure.http(headers=headers) as client:
        assert client.delete(f"/blob/{place.account}/models/{name}/weights").status_code == 202
    told = explain(place.failed(model=model))
    assert told["cause"] == "MODEL_NOT_FOUND"
    assert "upload-model" in told["fix"]


def test_a_script_that_raises_in_init(place: Place, explain: Explain) -> None:
    told = explain(place.failed(f'{WELL}\n\ndef init():\n    raise RuntimeError("no weights in the folder")\n'))
    assert told["cause"] == "SCRIPT"
    assert "score.py raised an exception while loading: RuntimeError: no weights in the folder" in told["what"]
    assert told["container"] == "inference-server"


def test_a_package_that_is_missing(place: Place, explain: Explain) -> None:
    told = explain(place.failed(f"import ujson\n\n{WELL}"))
    assert told["cause"] == "MISSING_PACKAGE"
    assert "imports ujson" in told["what"]


def test_a_model_with_two_inputs(place: Place, explain: Explain) -> None:
    raised = 'raise ValueError("This score.py only supports one input")'
    assert explain(place.failed(f"{WELL}\n\ndef init():\n    {raised}\n"))["cause"] == "MODEL_INPUTS"


def test_a_readiness_probe_that_nothing_answers(place: Place, explain: Explain) -> None:
    routes = {**ROUTES, "readinessRoute": {"port": 5001, "path": "/nowhere"}}
    image = "mcr.microsoft.com/azureml/minimal-py312-inference:latest"
    environment = place.environment_of(image=image, condaFile=CONDA, inferenceConfig=routes)
    told = explain(place.failed(environmentId=environment, readinessProbe=probe(2)))
    assert told["cause"] == "NOT_READY"
    assert "readiness probe" in told["what"]


def test_a_server_that_is_killed_for_its_memory(place: Place, explain: Explain) -> None:
    killed = "import os, signal\n\n\ndef init():\n    os.kill(os.getpid(), signal.SIGKILL)\n\n\ndef run(data):\n    return 1\n"
    told = explain(place.failed(killed, livenessProbe=probe(6)))  # its server starts it anew, for as long as it is let
    assert told["cause"] == "OUT_OF_MEMORY"
    assert "Standard_F2s_v2 has too little" in told["what"]


def test_an_environment_that_wants_a_gpu_on_a_processor(place: Place, explain: Explain) -> None:
    told = explain(place.failed(f'import ctypes\n\n{WELL}\n\ndef init():\n    ctypes.CDLL("libcuda.so.1")\n'))
    assert told["cause"] == "NO_GPU"
    assert "Standard_F2s_v2 has none, so it doesn't start" in told["what"]


@pytest.mark.usefixtures("connected")
def test_a_quota_with_the_fifth_that_is_kept(place: Place, explain: Explain) -> None:
    assert place.azure.command("fault", "quota", "ml", "westeurope", T4_FAMILY, "6").returncode == 0
    path, answer = place.deploy(size="Standard_NC4as_T4_v3")
    assert answer.status_code == 400, answer.text
    told = explain(path)
    assert told["cause"] == "QUOTA"
    assert "quota for Standard_NC4as_T4_v3 here is 6 vCPUs: 0 are used, 8 more are requested" in told["what"]
    assert explain(place.endpoint)["cause"] != "HEALTHY", "an endpoint tells of a deployment that was refused"


def test_packages_that_cannot_be_had(place: Place, explain: Explain) -> None:
    image = "mcr.microsoft.com/azureml/minimal-py312-inference:latest"
    conda = "dependencies:\n  - python=3.11\n  - pip:\n    - no-such-package-of-azure-gpu==1.0\n"
    told = explain(place.failed(environmentId=place.environment_of(image=image, condaFile=conda)))
    assert told["cause"] == "BUILD"


def test_requests_that_take_longer_than_they_may(place: Place, explain: Explain) -> None:
    slow = "import time\n\n\ndef init():\n    pass\n\n\ndef run(data):\n    time.sleep(1.2)\n    return 1\n"
    path = place.running(slow, requestSettings={"requestTimeout": "PT1S"})
    assert explain(path)["cause"] == "HEALTHY"
    assert place.ask(path) == 408
    found = until(lambda: (told := explain(path))["cause"] == "TIMEOUT" and told, "its log has the request")
    assert "than the limit of 1 s" in found["what"]


def test_what_was_never_asked_for_is_not_there(place: Place, explain: Explain) -> None:
    assert explain(f"{place.endpoint}/deployments/nobody")["cause"] == "NOT_THERE"
    assert explain(f"{place.workspace}/onlineEndpoints/{uuid.uuid4().hex[:12]}")["cause"] == "NOT_THERE"
    assert explain(f"{place.workspace}/computes/nobody")["cause"] == "NOT_THERE"
    assert explain(f"{place.workspace}/jobs/nobody")["cause"] == "NOT_THERE"
    assert explain(f"{place.group}/providers/Microsoft.Compute/virtualMachines/nobody")["cause"] == "NOT_THERE"
