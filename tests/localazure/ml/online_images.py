"""A registry with a small image in it, whose program is the standard library alone: for deployments of custom containers."""

import io
import tarfile
import uuid
from typing import Any

from azure_gpu.catalog import roles
from tests.localazure.containers.sdk import TASK_RUN, Registry
from tests.localazure.ml.online_world import World
from tests.support import ml_resources as ml
from tests.support.embedded import EmbeddedAzure, until

DOCKERFILE = """
FROM python:3.11-slim
ENV PYTHONUNBUFFERED=1
WORKDIR /app
COPY . .
ENTRYPOINT ["python", "serve.py"]
"""
SERVE = '''
"""Listens where a container may: at all addresses, at a number of its own. Answers with what it was started with."""

import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        self.answer(200 if self.path == "/healthy" else 404, {})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])) or "{}")
        time.sleep(asked.get("sleep", 0))
        weights = next(Path(os.environ["AZUREML_MODEL_DIR"]).rglob("weights.txt"))
        found = {"answer": os.environ["ANSWER"], "weights": weights.read_text(), "path": self.path, "pid": os.getpid()}
        self.answer(200, found)

    def answer(self, status, found):
        content = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


if os.environ.get("CRASH"):
    raise SystemExit("told to crash")
ThreadingHTTPServer(("0.0.0.0", 8000), Handler).serve_forever()
'''
ROUTES = {
    "scoringRoute": {"path": "/predict", "port": 8000},
    "livenessRoute": {"path": "/healthy", "port": 8000},
    "readinessRoute": {"path": "/healthy", "port": 8000},
}


class Images(World):
    """With a registry, an image in it, and environments of that."""

    def __init__(self, azure: EmbeddedAzure, group: str) -> None:
        super().__init__(azure, group)
        self.let_read()
        self.registry = Registry(azure, group, f"reg{uuid.uuid4().hex[:10]}")
        self._build("tiny:1")
        self.own = self.put_environment("own", image=f"{self.registry.server}/tiny:1", inferenceConfig=ROUTES)

    def _build(self, image: str) -> None:
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w:gz") as packed:
            for name, text in (("Dockerfile", DOCKERFILE), ("serve.py", SERVE)):
                member = tarfile.TarInfo(name)
                member.size = len(text.encode())
                packed.addfile(member, io.BytesIO(text.encode()))
        place = self.azure.post(f"{self.registry.id}/listBuildSourceUploadUrl", TASK_RUN).json()
        with self.azure.http() as client:
            headers = {"x-ms-blob-type": "BlockBlob"}
            client.put(place["uploadUrl"], content=content.getvalue(), headers=headers).raise_for_status()
        body = {**self.registry.request("unused", image), "sourceLocation": place["relativePath"]}
        run = self.azure.post(f"{self.registry.id}/scheduleRun", TASK_RUN, body).json()["properties"]["runId"]

        def ended() -> Any:
            found = self.azure.get(f"{self.registry.id}/runs/{run}", TASK_RUN).json()["properties"]["status"]
            return found not in ("Queued", "Running") and found

        assert until(ended, "the image is built") == "Succeeded"

    def let_pull(self, principal: str) -> None:
        ml.give_role(self.azure, self.registry.id, roles.ACR_PULL, principal)

    def custom(self, **properties: Any) -> dict[str, Any]:
        """A deployment of the image: no code, no conda file."""
        return {"environmentId": self.own, "codeConfiguration": None, **properties}
