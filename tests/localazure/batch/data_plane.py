"""A Batch account of a test's own and requests to its data plane, by key or by token."""

import base64
import hashlib
import hmac
import uuid
from datetime import datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx

from tests.support.embedded import EmbeddedAzure

ARM_VERSION = "2024-07-01"
VERSION = "2025-06-01"
AUDIENCE = "https://batch.core.windows.net/"
MACHINE = {
    "imageReference": {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204", "version": "latest"},
    "nodeAgentSKUId": "batch.node.ubuntu 22.04",
}


class Account:
    """Made once; `request` speaks to it with a token, `signed` with its key."""

    def __init__(self, azure: EmbeddedAzure, group: str, **properties: Any) -> None:
        self.azure = azure
        self.name = f"batch{uuid.uuid4().hex[:12]}"
        self.id = f"{group}/providers/Microsoft.Batch/batchAccounts/{self.name}"
        answer = azure.put(self.id, {"location": "westeurope", "properties": properties}, ARM_VERSION)
        assert answer.status_code in (200, 202), answer.text
        if answer.status_code == 202:
            assert azure.finished(answer)["status"] == "Succeeded"
        self.url = f"{azure.url}/batch/{self.name}"
        self.client = azure.http(headers={"Authorization": f"Bearer {azure.token(AUDIENCE + '/.default')}"})

    @property
    def keys(self) -> dict[str, str]:
        return self.azure.post(f"{self.id}/listKeys", ARM_VERSION).json()

    def request(self, method: str, path: str, body: Any = None, **options: Any) -> httpx.Response:
        query = {"api-version": VERSION, **options.pop("params", {})}
        return self.client.request(method, f"/batch/{self.name}/{path}", params=query, json=body, **options)

    def get(self, path: str, **query: Any) -> httpx.Response:
        return self.request("GET", path, params=query)

    def post(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        return self.request("POST", path, body, **options)

    def add_job(self, name: str, pool: str = "none", **given: Any) -> None:
        answer = self.post("jobs", {"id": name, "poolInfo": {"poolId": pool}, **given})
        assert answer.status_code == 201, answer.text

    def add_tasks(self, job: str, *names: str, command: str = "/bin/true", **given: Any) -> None:
        bodies = [{"id": name, "commandLine": command, **given} for name in names]
        answer = self.post(f"jobs/{job}/addtaskcollection", {"value": bodies})
        assert answer.status_code == 200, answer.text
        assert [each["status"] for each in answer.json()["value"]] == ["success"] * len(names), answer.text

    def add_pool(self, name: str, nodes: int = 1, **given: Any) -> None:
        body = {"id": name, "vmSize": "Standard_D2s_v3", "virtualMachineConfiguration": MACHINE, **given}
        answer = self.post("pools", {"targetDedicatedNodes": nodes, **body} if "enableAutoScale" not in given else body)
        assert answer.status_code == 201, answer.text

    def idle_pool(self, name: str, nodes: int = 1, **given: Any) -> list[dict[str, Any]]:
        """A pool with its nodes, all of them idle."""
        self.add_pool(name, nodes, **given)

        def idle() -> list[dict[str, Any]]:
            found = self.get(f"pools/{name}/nodes").json()["value"]
            return found if len(found) == nodes and {node["state"] for node in found} == {"idle"} else []

        return self.azure.until(idle, f"{nodes} idle nodes")

    def completed(self, job: str, task: str) -> dict[str, Any]:
        """A task once it has completed."""

        def over() -> dict[str, Any] | None:
            found = self.get(f"jobs/{job}/tasks/{task}").json()
            return found if found["state"] == "completed" else None

        return self.azure.until(over, f"{task} has completed")

    # By key

    def signed(
        self,
        method: str,
        path: str,
        key: str,
        *,
        name: str = "",
        date: datetime | None = None,
        changed: dict[str, str] | None = None,
        **options: Any,
    ) -> httpx.Response:
        """A request signed as azure-batch does it. `changed`: headers that are other than those that were signed."""
        with self.azure.http() as client:
            params = {"api-version": VERSION, **options.pop("params", {})}
            request = client.build_request(method, f"/batch/{self.name}/{path}", params=params, **options)
            request.headers["ocp-date"] = format_datetime(date or self.azure.now(), usegmt=True)
            signature = sign(request, key, name or self.name)
            request.headers["Authorization"] = f"SharedKey {name or self.name}:{signature}"
            request.headers.update(changed or {})
            return client.send(request)


def sign(request: httpx.Request, key: str, account: str) -> str:
    """The signature of a request, written down from the service's documentation."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    if request.method not in ("GET", "HEAD"):
        headers.setdefault("content-length", "0")
    parts = urlsplit(str(request.url))
    lines = [
        request.method,
        headers.get("content-encoding", ""),
        headers.get("content-language", ""),
        headers.get("content-length", ""),
        headers.get("content-md5", ""),
        headers.get("content-type", ""),
        "",
        headers.get("if-modified-since", ""),
        headers.get("if-match", ""),
        headers.get("if-none-match", ""),
        headers.get("if-unmodified-since", ""),
        headers.get("range", ""),
        *(f"{name}:{headers[name]}" for name in sorted(headers) if name.startswith("ocp-")),
        f"/{account}{parts.path}",
        *(f"{name}:{value}" for name, value in sorted(parse_qsl(parts.query))),
    ]
    digest = hmac.new(base64.b64decode(key), "\n".join(lines).encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def code(answer: httpx.Response) -> str:
    """The code of a refusal, whose envelope has to be the service's."""
    body = answer.json()
    assert set(body) <= {"odata.metadata", "code", "message", "values"}, answer.text
    assert set(body["message"]) == {"lang", "value"}
    assert all(set(each) == {"key", "value"} for each in body.get("values", []))
    return body["code"]


def values(answer: httpx.Response) -> dict[str, str]:
    return {each["key"]: each["value"] for each in answer.json().get("values", [])}
