"""This folder's tests of the Kubernetes provider, run against Pulumi's own one: a pytest plugin, which no other run loads.

In place of the stand-in each test gets a process of the program that REAL_PROVIDER names: those that need no cluster, or a real
control plane. A small engine hears what it logs. Time is real.
"""

import os
import subprocess
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import ExitStack
from typing import Any

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import engine_pb2_grpc, provider_pb2_grpc

from tests.localazure.kubernetes_plugin import conftest
from tests.support.kubernetes import ControlPlane
from tests.support.provider_calls import VirtualTime

_MADE_WITH = {"engine", "offline", "unconfigured"}  # fixtures
_SERVING = b"\x08\x01"  # grpc.health.v1.HealthCheckResponse: the provider asks whether its engine lives

_stack = ExitStack()  # of the test that runs


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
def _ended(starts_processes: None) -> Iterator[None]:
    with _stack:
        yield


def _plugin(environment: dict[str, str] | None = None) -> conftest.KubernetesEngine:
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
    return _Engine(provider_pb2_grpc.ResourceProviderStub(channel), lines)


def _real_plugin(control_plane: ControlPlane, **configuration: str) -> conftest.KubernetesEngine:
    engine = _plugin()
    engine.configure(kubeconfig=control_plane.kubeconfig.read_text(), **configuration)
    return engine


class _Engine(conftest.KubernetesEngine):
    def __init__(self, stub: Any, lines: conftest.Lines) -> None:
        self.stub, self.lines, self.time = _Calls(stub), lines, VirtualTime()


class _Calls:
    """The stub, with what Pulumi's engine says in each request and the stand-in does without."""

    def __init__(self, stub: Any) -> None:
        self._stub = stub

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        def send(request: Any) -> Any:
            if name == "Configure":
                request.sends_old_inputs = request.sends_old_inputs_to_delete = True
                request.acceptSecrets = request.acceptResources = True
                for key, value in request.args.fields.items():
                    request.variables[f"kubernetes:config:{key}"] = value.string_value
            return getattr(self._stub, name)(request)

        return send


class _Log(engine_pb2_grpc.EngineServicer):
    def __init__(self, lines: conftest.Lines) -> None:
        self._lines = lines

    def Log(self, request: Any, context: grpc.ServicerContext) -> Empty:  # noqa: N802
        self._lines.status(request.urn, request.message)
        return Empty()
