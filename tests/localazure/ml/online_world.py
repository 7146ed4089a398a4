"""A workspace with models, code and environments that small online deployments are made of, and clients that score.

The environment is the real inference server without TensorFlow, and the scoring script tells what it was started with.
"""

import threading
import time
import uuid
from collections import Counter
from typing import Any

import httpx

from azure_gpu.catalog import roles
from tests.support import ml_resources as ml
from tests.support.embedded import EmbeddedAzure, until

SIZE = "Standard_DS3_v2"
CONDA = """
name: tiny
dependencies:
  - python=3.11
  - pip:
      - azureml-inference-server-http==1.5.1
"""
SCORE = '''
"""Answers with what it was started with, and does what it is asked."""

import json
import os
import time
from pathlib import Path


def init():
    print("init was called")
    if os.environ.get("FAIL_INIT"):
        raise ValueError("told to fail in init")


def run(data):
    asked = json.loads(data)
    if asked.get("raise"):
        raise ValueError("told to fail in run")
    if asked.get("sleep", 0) > 0.5:
        print("it sleeps")
    time.sleep(asked.get("sleep", 0))
    weights = Path(os.environ["AZUREML_MODEL_DIR"]) / os.environ["WEIGHTS"]
    return {"answer": os.environ["ANSWER"], "weights": weights.read_text(), "pid": os.getpid(), "echo": asked.get("echo")}
'''


class World:
    """Made once for a module: endpoints of its own are cheap, deployments take a second."""

    def __init__(self, azure: EmbeddedAzure, group: str) -> None:
        self.azure = azure
        self.group = group
        self.workspace = ml.put_workspace(azure, group)
        self.storage = azure.get(self.workspace, ml.ML).json()["properties"]["storageAccount"]
        self.account = self.storage.rsplit("/", 1)[1]
        self.identity = ml.put_identity(azure, group)
        for blob, content in (
            ("first/weights.txt", b"one"),
            ("second/weights.txt", b"two"),
            ("source/score.py", SCORE.encode()),
            ("source/empty.py", b"\n"),
        ):
            ml.upload(azure, self.account, "models", blob, content)
        place = f"{azure.url}/blob/{self.account}/models"
        self.models = {
            number: self.put(f"models/tiny/versions/{number}", {"modelUri": f"{place}/{folder}"})
            for number, folder in (("1", "first"), ("2", "second"))
        }
        self.code = self.put("codes/score/versions/1", {"codeUri": f"{place}/source"})
        self.environment = self.put_environment("tiny", condaFile=CONDA)

    def let_read(self) -> None:
        """The identity may read blobs."""
        ml.give_role(self.azure, self.storage, roles.STORAGE_BLOB_DATA_READER, self.identity["properties"]["principalId"])

    def put(self, below: str, properties: dict[str, Any]) -> str:
        return ml.done(self.azure, self.azure.put(f"{self.workspace}/{below}", {"properties": properties}, ml.ML))["id"]

    def put_environment(self, name: str, **properties: Any) -> str:
        given = {"image": "mcr.microsoft.com/azureml/minimal-py312-inference", **properties}
        return self.put(f"environments/{name}/versions/1", given)

    # Endpoints

    def endpoint_body(self, auth: str = "Key", **properties: Any) -> dict[str, Any]:
        identity = {"type": "UserAssigned", "userAssignedIdentities": {self.identity["id"]: {}}}
        return {"location": ml.REGION, "identity": identity, "properties": {"authMode": auth, **properties}}

    def path(self, endpoint: str, deployment: str = "") -> str:
        return f"{self.workspace}/onlineEndpoints/{endpoint}" + (f"/deployments/{deployment}" if deployment else "")

    def try_endpoint(self, name: str, auth: str = "Key", **properties: Any) -> httpx.Response:
        return self.azure.put(self.path(name), self.endpoint_body(auth, **properties), ml.ML)

    def endpoint(self, name: str = "", auth: str = "Key", **properties: Any) -> "Endpoint":
        name = name or f"e{uuid.uuid4().hex[:10]}"
        return Endpoint(self, ml.done(self.azure, self.try_endpoint(name, auth, **properties)))

    # Deployments

    def deployment_body(self, name: str, instances: int = 1, version: str = "1", **properties: Any) -> dict[str, Any]:
        """`version`: of the model."""
        variables = {"ANSWER": name, "WEIGHTS": {"1": "first/weights.txt", "2": "second/weights.txt"}[version]}
        given = {
            "endpointComputeType": "Managed",
            "instanceType": SIZE,
            "model": self.models[version],
            "environmentId": self.environment,
            "codeConfiguration": {"codeId": self.code, "scoringScript": "score.py"},
            **properties,
            "environmentVariables": {**variables, **properties.get("environmentVariables", {})},
        }
        return {"location": ml.REGION, "sku": {"name": "Default", "capacity": instances}, "properties": given}


class Endpoint:
    """One endpoint, and requests to it with its key."""

    def __init__(self, world: World, document: dict[str, Any]) -> None:
        self.world = world
        self.azure = world.azure
        self.name: str = document["name"]
        self.path: str = document["id"]
        self.uri: str = document["properties"]["scoringUri"]
        self.auth: str = document["properties"]["authMode"]
        self._stays = {name: document["properties"][name] for name in ("compute",) if name in document["properties"]}

    def keys(self) -> dict[str, str]:
        return self.azure.post(f"{self.path}/listKeys", ml.ML).json()

    def client(self, token: str = "") -> httpx.Client:
        return self.azure.http(headers={"Authorization": f"Bearer {token or self.keys()['primaryKey']}"})

    def share(self, **traffic: int) -> None:
        ml.done(self.azure, self.world.try_endpoint(self.name, self.auth, **self._stays, traffic=traffic))

    def try_deploy(self, name: str, instances: int = 1, version: str = "1", **properties: Any) -> httpx.Response:
        body = self.world.deployment_body(name, instances, version, **properties)
        return self.azure.put(self.world.path(self.name, name), body, ml.ML)

    def deploy(self, *names: str, **given: Any) -> None:
        """Deployments, started together."""
        for answer in [self.try_deploy(name, **given) for name in names]:
            ml.done(self.azure, answer)

    def failure(self, name: str, **given: Any) -> dict[str, Any]:
        """Code and message with which a deployment fails in the background."""
        answer = self.try_deploy(name, **given)
        assert answer.status_code in (200, 201), answer.text
        ended = self.azure.finished(answer)
        assert ended["status"] == "Failed", ended
        assert self.azure.get(self.world.path(self.name, name), ml.ML).json()["properties"]["provisioningState"] == "Failed"
        return ended["error"]

    def log(self, deployment: str, **asked: Any) -> str:
        answer = self.azure.post(f"{self.world.path(self.name, deployment)}/getLogs", ml.ML, asked)
        assert answer.status_code == 200, answer.text
        return answer.json()["content"]

    def delete(self, deployment: str) -> None:
        answer = self.azure.delete(self.world.path(self.name, deployment), ml.ML)
        assert answer.status_code == 202, answer.text
        assert self.azure.finished(answer)["status"] == "Succeeded"


class Load:
    """Clients that score all the time, each with a connection of its own, and what they were answered."""

    def __init__(self, endpoint: Endpoint, clients: int = 4, seconds: float = 0.005) -> None:
        self.answers: Counter[tuple[int, str]] = Counter()
        self._endpoint = endpoint
        self._seconds = seconds
        self._key = endpoint.keys()["primaryKey"]
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(clients)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        until(lambda: sum(self.answers.values()) > len(self._threads), "requests are answered")
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def more(self, requests: int = 30) -> None:
        """Waits until so many more have been answered."""
        before = sum(self.answers.values())
        until(lambda: sum(self.answers.values()) > before + requests, "more requests are answered")

    def statuses(self) -> Counter[int]:
        found: Counter[int] = Counter()
        for (status, _), count in self.answers.items():
            found[status] += count
        return found

    def _run(self) -> None:
        with self._endpoint.client(self._key) as client:
            while not self._stopping.is_set():
                try:
                    answer = client.post(self._endpoint.uri, json={"sleep": self._seconds})
                    self.answers[answer.status_code, answer.json().get("answer", answer.text)] += 1
                except httpx.HTTPError as error:
                    self.answers[0, repr(error)] += 1
                    time.sleep(0.05)
