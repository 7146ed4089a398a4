"""The plugin as a process: installed where the engine looks, and telling the engine what goes on."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import engine_pb2_grpc, provider_pb2_grpc

from localazure.kubernetes_plugin import install
from localazure.kubernetes_plugin.engine_log import EngineLog
from tests.support.embedded import CHECKOUT

PATIENCE_S = 60


@pytest.fixture
def executable(tmp_path: Path) -> Path:
    return install(tmp_path / "home with space", Path(sys.executable), CHECKOUT) / "pulumi-resource-kubernetes"


def test_the_plugin_lies_where_the_engine_looks_for_exactly_this_version(executable: Path) -> None:
    assert executable.parent.name == f"resource-kubernetes-v{version('pulumi-kubernetes')}"
    assert executable.parent.parent.name == "plugins"


def test_the_process_says_its_port_and_its_version_and_ends_when_the_engine_ends_it(executable: Path) -> None:
    process = subprocess.Popen([executable, "127.0.0.1:1"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}") as channel:
        stub = provider_pb2_grpc.ResourceProviderStub(channel)
        assert stub.GetPluginInfo(Empty()).version == version("pulumi-kubernetes")
        stub.Cancel(Empty())
        assert stub.GetPluginInfo(Empty()).version == version("pulumi-kubernetes")
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 0


class Listener(engine_pb2_grpc.EngineServicer):
    """The engine's side of the log."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, bool]] = []

    def Log(self, request, context):  # noqa: N802
        self.heard.append((request.urn, request.message, request.ephemeral))
        return Empty()


def test_lines_reach_the_engine_beside_their_resource() -> None:
    listener, server = Listener(), grpc.server(ThreadPoolExecutor(1))
    engine_pb2_grpc.add_EngineServicer_to_server(listener, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    log = EngineLog(f"127.0.0.1:{port}")
    log.status("urn:a", "waiting")
    log.warning("urn:b", "unreachable")
    server.stop(None).wait()
    assert listener.heard == [("urn:a", "waiting", True), ("urn:b", "unreachable", False)]
    log.status("urn:a", "nobody listens, and nothing fails")
