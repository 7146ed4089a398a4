"""Both plugins as processes: installed, started by path, answering on their port, ended with their engine."""

import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import provider_pb2_grpc
from pulumi.runtime.proto.provider_pb2 import CreateRequest, CreateResponse

from localazure.plugin.base import Plugin
from localazure.plugin.installation import STAND_INS, install
from localazure.plugin.server import start
from tests.support.embedded import CHECKOUT, until

PATIENCE_S = 60


@pytest.fixture(params=STAND_INS)
def executable(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return install(tmp_path / "home with space", Path(sys.executable), CHECKOUT, request.param).executable


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_process_answers_after_a_cancel_until_the_engine_ends_it(executable: Path, number: signal.Signals) -> None:
    process = subprocess.Popen([executable, "127.0.0.1:1"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}") as channel:
        stub = provider_pb2_grpc.ResourceProviderStub(channel)
        stub.Cancel(Empty())
        assert stub.Cancel(Empty()) == Empty()
        name = executable.name.removeprefix("pulumi-resource-")
        assert stub.GetPluginInfo(Empty()).version == version(f"pulumi-{name}")
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == 0


@pytest.mark.slow
def test_a_cancel_is_answered_beside_all_operations_of_an_engine_on_many_cores() -> None:
    class Waiting(Plugin):
        def Create(self, request: CreateRequest, context: grpc.ServicerContext) -> CreateResponse:  # noqa: N802
            self._stopping.wait()
            return CreateResponse(id="made")

    provider = Waiting({})
    server, port = start(provider)
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = provider_pb2_grpc.ResourceProviderStub(channel)
            creating = [stub.Create.future(CreateRequest()) for _ in range(4 * 16)]
            stub.Cancel(Empty(), timeout=PATIENCE_S)
            assert {each.result().id for each in creating} == {"made"}
    finally:
        provider.abandon()
        server.stop(None)


@pytest.mark.slow
def test_the_process_ends_when_its_engine_was_killed(executable: Path) -> None:
    # The shell stands for the engine: it starts the plugin, says its process id, and is then killed.
    engine = subprocess.Popen(
        ["sh", "-c", '"$0" 127.0.0.1:1 & echo $!; wait', executable], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert engine.stdout is not None
    process = int(engine.stdout.readline())
    int(engine.stdout.readline())  # its port: it serves
    engine.kill()
    engine.wait(PATIENCE_S)
    until(lambda: gone(process), "the plugin is gone")
