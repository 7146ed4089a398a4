"""This folder's tests of the Kubernetes provider, run against Pulumi's own one: a pytest plugin, which no other run loads.

In place of the stand-in each test gets a process of the program that REAL_PROVIDER names. A small engine hears what it logs. The
API server of a test's own process answers it over HTTP, with the lists of kinds and the schema of a real control plane. Time is
real.
"""

import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import grpc
import pytest
import yaml
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import engine_pb2_grpc, provider_pb2_grpc

from localazure.kubernetes_plugin.kubeconfig import access, read
from localazure.kubernetes_plugin.kubectl import Proxy
from tests.localazure.kubernetes_plugin import conftest
from tests.support.fake_kubernetes import FakeKubernetes
from tests.support.kubernetes import ControlPlane

_MADE_WITH = {"engine", "offline", "online", "unconfigured"}  # fixtures
_SERVING = b"\x08\x01"  # grpc.health.v1.HealthCheckResponse: the provider asks whether its engine lives
_CALLS = {"Create", "Update", "Delete", "Read"}
_KINDS = re.compile(r"/(version|openapi/.*|api(/v1)?|apis(/[^/]+){0,2})")
_COLLECTION = re.compile(r"/(api/v1|apis/[^/]+/[^/]+)/(namespaces/[^/]+/)?[^/]+")
_LOOK_S = 0.05

_stack = ExitStack()  # of the test that runs
_control_plane: list[ControlPlane] = []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Function]) -> None:
    judged = [each for each in items if _MADE_WITH & set(each.fixturenames)]
    config.hook.pytest_deselected(items=[each for each in items if each not in judged])
    items[:] = judged
    for module in {conftest, *(each.module for each in judged)}:
        for name, made in {"plugin": _plugin, "real_plugin": _real_plugin}.items():
            if hasattr(module, name):
                setattr(module, name, made)


@pytest.fixture(autouse=True)
def _ended(control_plane: ControlPlane) -> Iterator[None]:
    _control_plane[:] = [control_plane]
    with _stack:
        yield


def _plugin(environment: dict[str, str] | None = None, server: FakeKubernetes | None = None) -> conftest.KubernetesEngine:
    lines = conftest.Lines()
    heard = grpc.server(futures.ThreadPoolExecutor(4))
    engine_pb2_grpc.add_EngineServicer_to_server(_Log(lines), heard)
    health = grpc.unary_unary_rpc_method_handler(lambda request, context: _SERVING)
    heard.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": health}),))
    address = f"127.0.0.1:{heard.add_insecure_port('127.0.0.1:0')}"
    heard.start()
    _stack.callback(lambda: heard.stop(None).wait())
    process = subprocess.Popen(
        [os.environ["REAL_PROVIDER"], address],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | (environment or {}),
        text=True,
    )
    _stack.callback(process.wait)
    _stack.callback(process.kill)
    assert process.stdout is not None
    channel = _stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{process.stdout.readline().strip()}"))
    return _Engine(provider_pb2_grpc.ResourceProviderStub(channel), lines, server)


def _real_plugin(control_plane: ControlPlane, **configuration: str) -> conftest.KubernetesEngine:
    engine = _plugin()
    engine.configure(kubeconfig=control_plane.kubeconfig.read_text(), **configuration)
    return engine


class _Engine(conftest.KubernetesEngine):
    def __init__(self, stub: Any, lines: conftest.Lines, server: FakeKubernetes | None) -> None:
        self.time = _Time(server)
        self.stub, self.lines = _Calls(stub, _served(server) if server else "", self.time), lines
        self.provider = SimpleNamespace(abandon=lambda: stub.Cancel(Empty()))


class _Calls:
    """The stub, with what Pulumi's engine says in each request and the stand-in does without."""

    def __init__(self, stub: Any, served: str, clock: "_Time") -> None:
        self._stub, self._served, self._clock = stub, served, clock

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        def send(request: Any) -> Any:
            if name == "Configure":
                request.sends_old_inputs = request.sends_old_inputs_to_delete = True
                request.acceptSecrets = request.acceptResources = True
                for key, value in request.args.fields.items():
                    value.string_value = value.string_value.replace("https://here.example", self._served)
                    request.variables[f"kubernetes:config:{key}"] = value.string_value
            with self._clock.running() if name in _CALLS else ExitStack():
                return getattr(self._stub, name)(request)

        return send


class _Time:
    """Whole seconds of calls; while one runs and an object is there, `waited` is called over and over."""

    def __init__(self, server: FakeKubernetes | None) -> None:
        self._server = server
        self.waited: Callable[[float], object] = lambda _: None
        self._before, self._began = 0.0, 0.0

    @property
    def now(self) -> int:
        return int(self._before + (time.monotonic() - self._began if self._began else 0.0))

    def running(self) -> ExitStack:
        stack, ended = ExitStack(), threading.Event()
        self._began = time.monotonic()

        def look() -> None:
            while not ended.wait(_LOOK_S):
                if self._server and self._server.objects:
                    self.waited(_LOOK_S)

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        stack.callback(self._stopped)
        stack.callback(thread.join)
        stack.callback(ended.set)
        return stack

    def _stopped(self) -> None:
        self._before, self._began = self._before + time.monotonic() - self._began, 0.0


class _Log(engine_pb2_grpc.EngineServicer):
    def __init__(self, lines: conftest.Lines) -> None:
        self._lines = lines

    def Log(self, request: Any, context: grpc.ServicerContext) -> Empty:  # noqa: N802
        self._lines.status(request.urn, request.message)
        return Empty()


def _served(server: FakeKubernetes) -> str:
    """The address at which `server` answers until the test ends."""

    class Handler(_Handler):
        fake = server

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    _stack.callback(http.server_close)
    _stack.callback(http.shutdown)
    return f"http://127.0.0.1:{http.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: FakeKubernetes

    def answer(self) -> None:
        parts = urlsplit(self.path)
        sent = yaml.safe_load(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        if self.command == "GET" and _KINDS.fullmatch(parts.path):
            self._send(*_of_real_one(self.path, self.headers.get("Accept") or ""))
        elif self.command == "GET" and _COLLECTION.fullmatch(parts.path):
            self._list(parts.path, watch="watch=" in parts.query)
        else:
            try:
                body = json.dumps(sent).encode() if sent else None
                found = self.fake.request(self.command, self.path, body, dict(self.headers))
            except ConnectionRefusedError:
                self.close_connection = True
                return
            answered = json.loads(found.data)
            if found.status >= 400:
                answered |= {"apiVersion": "v1", "status": "Failure", "code": found.status}
            self._json(found.status, _versioned(answered))

    do_GET = do_PATCH = do_DELETE = do_POST = do_PUT = answer  # noqa: N815  as the base class names them

    def log_message(self, *_: Any) -> None:
        pass

    def _send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _json(self, status: int, body: Any) -> None:
        self._send(status, json.dumps(body).encode(), "application/json")

    def _list(self, path: str, *, watch: bool) -> None:
        def there() -> dict[str, Any]:
            return {key: _versioned(each) for key, each in list(self.fake.objects.items()) if key.rsplit("/", 1)[0] == path}

        if not watch:
            self._json(
                200, {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "1"}, "items": [*there().values()]}
            )
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        known: dict[str, Any] = {}
        try:
            while True:
                now = there()
                events = [("MODIFIED" if key in known else "ADDED", each) for key, each in now.items() if known.get(key) != each]
                events += [("DELETED", each) for key, each in known.items() if key not in now]
                for kind, each in events:
                    self.wfile.write(json.dumps({"type": kind, "object": each}).encode() + b"\n")
                self.wfile.flush()
                known = now
                time.sleep(_LOOK_S)
        except OSError:
            pass  # nobody listens any more


def _versioned(thing: Any) -> Any:
    """An object with the resource version that the program tells changes by."""
    if not isinstance(thing, dict) or "metadata" not in thing:
        return thing
    return {**thing, "metadata": {"resourceVersion": str(abs(hash(json.dumps(thing, sort_keys=True)))), **thing["metadata"]}}


def _of_real_one(path: str, accept: str) -> tuple[int, bytes, str]:
    """What the control plane answers; asked once."""
    if (path, accept) not in _answers:
        file = str(_control_plane[0].kubeconfig)
        answer = Proxy(access(read(file, {}), given=file)).request("GET", path, headers={"Accept": accept})
        _answers[path, accept] = (answer.status, answer.data, answer.headers.get("Content-Type", ""))
    return _answers[path, accept]


_answers: dict[tuple[str, str], tuple[int, bytes, str]] = {}
