"""A node agent on a control plane of the tests, with nodes and images that tests give it, and no embedded Azure.

Images are told by a small server that stands where the embedded Azure stands: every `tests.azurecr.local/<name>` is one image
with Python and the shell, `missing` isn't there.
"""

import asyncio
import json
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from localazure.containers.runtime import Runtime
from tests.support.embedded import until
from tests.support.kubernetes import ControlPlane

IMAGE = "tests.azurecr.local/app:1"
DIGEST = "sha256:" + "1" * 64
_CHECKOUT = Path(__file__).parents[2]


class NodeAgent:
    """One that runs, and can be ended and started again."""

    def __init__(self, control_plane: ControlPlane, folder: Path, url: str, groups: Path = Path()) -> None:
        self.control_plane = control_plane
        self.folder = folder
        self._records: list[dict[str, Any]] = []
        self._process: subprocess.Popen[bytes] | None = None
        settings = json.loads((control_plane.folder / "agent.json").read_text(encoding="utf-8"))
        settings["groups"] = str(groups)
        settings["embedded"] = {"url": url, "ca": "", "token": "token"}
        (folder / "agent.json").write_text(json.dumps(settings), encoding="utf-8")
        trust = ssl.create_default_context(cafile=settings["ca"])
        trust.load_cert_chain(settings["client"]["certificate"], settings["client"]["key"])
        self._client = httpx.Client(base_url=settings["server"], verify=trust)

    def start(self) -> None:
        with (self.folder / "agent.log").open("ab") as log:
            command = [sys.executable, "-m", "localazure.kubernetes.agent", str(self.folder)]
            self._process = subprocess.Popen(command, cwd=_CHECKOUT, stdout=log, stderr=log, start_new_session=True)

    def kill(self) -> None:
        """As a machine that runs out of memory does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait()

    def nodes(self, *records: dict[str, Any]) -> None:
        """The nodes that there are from now on; returns when they are ready."""
        self._records = list(records)
        new = self.folder / "nodes.new"
        new.write_text(json.dumps({"nodes": self._records}), encoding="utf-8")
        new.replace(self.folder / "nodes.json")
        for record in records:
            until(lambda name=record["name"]: self._is_ready(name), f"the node {record['name']} to be ready")

    def _is_ready(self, name: str) -> bool:
        """And taken for it: the controller that takes the taint of a new node away comes a moment later."""
        node = self.get(f"/api/v1/nodes/{name}")
        conditions = (node.get("status") or {}).get("conditions") or ()
        tainted = any(one["key"] == "node.kubernetes.io/not-ready" for one in (node.get("spec") or {}).get("taints") or ())
        return not tainted and any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """What the API server answers, {} where it has no such thing. For what is asked again and again: kubectl takes longer."""
        answer = self._client.get(path, params=query)
        return {} if answer.status_code == httpx.codes.NOT_FOUND else answer.json()

    def kubectl(self, *arguments: str, input: str = "") -> str:
        """What kubectl prints. The test fails where it does."""
        done = self.control_plane.kubectl(*arguments, input=input)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def pod(self, namespace: str, name: str) -> dict[str, Any]:
        return self.get(f"/api/v1/namespaces/{namespace}/pods/{name}")


def record(name: str, **changed: Any) -> dict[str, Any]:
    """A node of `nodes.json`."""
    amounts = {"cpu": "4", "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    plain: dict[str, Any] = {
        "name": name,
        "pool": "tests",
        "capacity": amounts,
        "allocatable": amounts,
        "labels": {"agentpool": "tests"},
        "taints": [],
        "gpus": 0,
    }
    found = {**plain, **changed}
    own = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    return {**found, "labels": {**own, **found["labels"]}}


@contextmanager
def running(control_plane: ControlPlane, folder: Path, groups: Path = Path()) -> Iterator[NodeAgent]:
    """An agent from start to end, and nothing of its pods left. `groups`: the file that names the controllers' folder."""
    with _images(folder / "image") as url:
        agent = NodeAgent(control_plane, folder, url, groups)
        agent.start()
        try:
            yield agent
            agent.nodes()
            until(lambda: not list((folder / "pods").glob("*/")), "the pods of the nodes to be gone")
        finally:
            agent.stop()
            _reap(folder / "pods")


def _reap(pods: Path) -> None:
    asyncio.run(Runtime(pods).reap())


@contextmanager
def _images(folder: Path) -> Iterator[str]:
    app = folder / "root" / "app"
    app.mkdir(parents=True)
    (app / "main.py").write_text("import sys\nprint('hello', *sys.argv[1:], flush=True)\n", encoding="utf-8")
    image = {
        "digest": DIGEST,
        "root": str(folder / "root"),
        "environment": None,
        "entrypoint": ["python3", "/app/main.py"],
        "cmd": ["world"],
        "env": {"FROM_IMAGE": "yes"},
        "workdir": "/app",
    }

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            known = asked["image"].startswith("tests.azurecr.local/") and "missing" not in asked["image"]
            answer = image if known else {"message": f'failed to pull and unpack image "{asked["image"]}": not found'}
            content = json.dumps(answer).encode()
            self.send_response(200 if known else 400)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
