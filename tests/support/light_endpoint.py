"""A stack with an online endpoint whose program is a few lines: no TensorFlow, so that its servers start in a moment.

In: an embedded Azure, and a stack in it. Out: its configuration, the upload of the program, and requests to the endpoint.
"""

import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure
from tests.support.stack import ProgramStack

FOLDER = Path(__file__).parent / "light_scoring"
BLOB_DATA_CONTRIBUTOR = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
DEPLOYMENT = "azureml-model-deployment"  # of a request that chooses one, and of every answer


def foundation() -> dict[str, Any]:
    """A stack with a workspace, and nothing in it."""
    return {
        "team": "tests",
        "location": "eastus",
        "as_of": "2026-11-21",
        "foundation": dict.fromkeys(["resource_group", "identity", "registry", "log_workspace", "storage"], "create"),
        "ml_workspace": "create",
    }


def serving(uri: str, deployments: dict[str, dict[str, Any]], **endpoint: Any) -> dict[str, Any]:
    """The same with an endpoint. A deployment answers with its colour, which is its name unless it says another."""
    light = {"environment": "light", "code": {"code": "answers", "script": "score.py"}, "instance_type": "Standard_DS3_v2"}
    return {
        **foundation(),
        "ml_workspace": {
            "environments": {
                "light": {
                    "version": "1",
                    "image": "mcr.microsoft.com/azureml/minimal-py312-inference:latest",
                    "conda_file": "tests/support/light_scoring/conda.yml",
                }
            },
            "code": {"answers": {"version": "1", "uri": uri}},
        },
        "ml_endpoints": {
            "colours": {
                "auth": "key",
                "deployments": {
                    name: {**light, "environment_variables": {"COLOUR": name}, **said} for name, said in deployments.items()
                },
                **endpoint,
            }
        },
    }


def uploaded(azure: EmbeddedAzure, storage_id: str) -> str:
    """The address of the program's folder in the storage account, by a login that may write there."""
    role = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{BLOB_DATA_CONTRIBUTOR}"
    whom = {"roleDefinitionId": role, "principalId": azure.principal_id, "principalType": "ServicePrincipal"}
    assignment = f"{storage_id}/providers/Microsoft.Authorization/roleAssignments/{uuid.uuid4()}"
    assert azure.put(assignment, {"properties": whom}, "2022-04-01").status_code == 201
    blobs = azure.get(storage_id, "2024-01-01").json()["properties"]["primaryEndpoints"]["blob"].rstrip("/")
    headers = {"Authorization": f"Bearer {azure.token('https://storage.azure.com/.default')}", "x-ms-version": "2021-12-02"}
    with azure.http(headers=headers) as client:
        assert client.put(f"{blobs}/programs?restype=container").status_code == 201
        body, of_block = (FOLDER / "score.py").read_bytes(), {"x-ms-blob-type": "BlockBlob"}
        assert client.put(f"{blobs}/programs/light/score.py", content=body, headers=of_block).status_code == 201
    return f"{blobs}/programs/light"


class Endpoint:
    """Asks the endpoint of a stack, with its key."""

    def __init__(self, stack: ProgramStack) -> None:
        outputs = stack.outputs()
        self.azure = stack.azure
        self.id: str = outputs["endpoints"]["colours"]
        self.uri: str = outputs["scoring_uris"]["colours"]
        key = self.azure.post(f"{self.id}/listKeys", "2025-12-01").json()["primaryKey"]
        self._headers = {"Authorization": f"Bearer {key}"}

    def client(self) -> httpx.Client:
        return self.azure.http(headers=self._headers)

    def ask(self, client: httpx.Client, **headers: str) -> httpx.Response:
        return client.post(self.uri, json={}, headers=headers)

    def colours(self, number: int) -> Counter[str]:
        """Who answered so many requests."""
        with self.client() as client:
            answers = [self.ask(client) for _ in range(number)]
        assert {answer.status_code for answer in answers} == {200}
        assert all(answer.json()["colour"] == answer.headers[DEPLOYMENT] for answer in answers)
        return Counter(answer.json()["colour"] for answer in answers)

    def shown(self) -> dict[str, Any]:
        """What ARM shows of it."""
        return self.azure.get(self.id, "2025-12-01").json()

    def change(self, changed: dict[str, dict[str, Any]]) -> None:
        """Changes it past the stack, as the portal does: all that it shows is sent again, with what `changed` says."""
        shown = self.shown()
        kept = ("authMode", "publicNetworkAccess", "traffic", "mirrorTraffic", "description")
        whole: dict[str, Any] = {
            "location": shown["location"],
            "tags": {**shown["tags"], **changed.get("tags", {})},
            "identity": {
                "type": "UserAssigned",
                "userAssignedIdentities": {key: {} for key in shown["identity"]["userAssignedIdentities"]},
            },
            "properties": {
                **{key: value for key, value in shown["properties"].items() if key in kept},
                **changed.get("properties", {}),
            },
        }
        done = self.azure.finished(self.azure.put(self.id, whole, "2025-12-01"))
        assert done.get("status", "Succeeded") == "Succeeded", done

    def deployments(self) -> list[str]:
        return sorted(each["name"] for each in self.azure.get(f"{self.id}/deployments", "2025-12-01").json()["value"])

    def requests_of(self, name: str) -> int:
        """How many requests a deployment has had, by its own log."""
        asked = {"containerType": "InferenceServer", "tail": 10_000}
        log = self.azure.post(f"{self.id}/deployments/{name}/getLogs", "2025-12-01", asked).json()["content"]
        return log.count("asked for a colour")
