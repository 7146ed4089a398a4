"""The plugin as a process: installed, started by path, ended with its engine, silent about secrets."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import provider_pb2_grpc

from localazure.plugin import install
from tests.localazure.plugin.conftest import Engine, configuration, details_of
from tests.localazure.plugin.fake_arm import SECRET, FakeArm
from tests.localazure.plugin.test_life_of_a_resource import CONTAINER_INPUTS, CONTAINERS

CHECKOUT = Path(__file__).parents[3]
PATIENCE_S = 30


def until(true: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S} s: {what}"
        time.sleep(0.02)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.fixture
def executable(tmp_path: Path) -> Path:
    return install(tmp_path / "home with space", Path(sys.executable), CHECKOUT) / "pulumi-resource-azure-native"


def started(executable: Path) -> "tuple[subprocess.Popen[str], int]":
    process = subprocess.Popen([executable, "127.0.0.1:1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def test_the_plugin_lies_where_the_engine_looks_for_exactly_this_version(executable: Path) -> None:
    assert executable.parent.name == "resource-azure-native-v3.29.0"
    assert executable.parent.parent.name == "plugins"


def test_installing_again_writes_nothing_and_repairs_what_was_broken(executable: Path) -> None:
    home = executable.parents[2]
    before = executable.stat()
    install(home, Path(sys.executable), CHECKOUT)
    assert executable.stat().st_ino == before.st_ino
    executable.write_text("half")
    install(home, Path(sys.executable), CHECKOUT)
    assert executable.stat().st_size == before.st_size
    assert os.access(executable, os.X_OK)
    assert [path.name for path in executable.parent.parent.iterdir()] == [executable.parent.name]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_process_ends_when_it_is_told(executable: Path, number: signal.Signals) -> None:
    process, _ = started(executable)
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == 0


def test_the_process_answers_after_a_cancel_until_the_engine_ends_it(executable: Path) -> None:
    process, port = started(executable)
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = provider_pb2_grpc.ResourceProviderStub(channel)
        stub.Cancel(Empty())
        assert stub.Cancel(Empty()) == Empty()
        assert stub.GetPluginInfo(Empty()).version
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 0


def test_the_process_ends_when_its_engine_was_killed(executable: Path) -> None:
    # The shell stands for the engine: it starts the plugin, says its process id, and is then killed.
    engine = subprocess.Popen(
        ["sh", "-c", '"$0" 127.0.0.1:1 & echo $!; wait', executable], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert engine.stdout is not None
    plugin = int(engine.stdout.readline())
    int(engine.stdout.readline())  # its port: it serves
    engine.kill()
    engine.wait(PATIENCE_S)
    began = time.monotonic()
    until(lambda: gone(plugin), "the plugin is gone")
    assert time.monotonic() - began < 10


def test_no_secret_reaches_the_output_of_the_process_even_when_things_fail(executable: Path, arm: FakeArm) -> None:
    process, port = started(executable)
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        engine = Engine(provider_pb2_grpc.ResourceProviderStub(channel))
        engine.configure(**configuration(arm.host))
        engine.create(CONTAINERS, CONTAINER_INPUTS)
        arm.faults.append("fail-operation")
        with pytest.raises(grpc.RpcError) as failed:
            engine.create(CONTAINERS, {**CONTAINER_INPUTS, "containerGroupName": "other"})
        arm.faults.append("refuse")
        with pytest.raises(grpc.RpcError) as refused:
            engine.create(CONTAINERS, {**CONTAINER_INPUTS, "containerGroupName": "third"})
    process.terminate()
    output, errors = process.communicate(timeout=PATIENCE_S)
    shown = output + errors + details_of(failed.value) + details_of(refused.value)
    assert "do-not-print-me" in str(arm.sent("PUT")), "the secret went to ARM"
    assert "do-not-print-me" not in shown
    assert SECRET not in shown
