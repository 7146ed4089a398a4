"""Language hosts without an engine."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from azure_gpu_operations import orphans
from tests.support.patience import SECONDS


@pytest.fixture
def listening() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def test_only_a_language_host_whose_engine_is_gone_is_an_orphan() -> None:
    rows = [
        "  11 /cache/pulumi-language-python 127.0.0.1:1",
        "  12 /cache/pulumi-language-python --root /x 127.0.0.1:2",
        "  13 pulumi up --stack local",
        "  14 python pulumi-language-python-exec --engine 127.0.0.1:1",
        "  15 vi pulumi-language-python 127.0.0.1:1",
        "  16 pulumi-language-python",
        "  17 /cache/pulumi-language-yaml-served 127.0.0.1:1",
    ]
    assert orphans.orphaned(rows, lambda address: address == "127.0.0.1:2") == [11, 17]


@pytest.mark.slow
def test_an_engine_answers_where_somebody_listens(listening: str) -> None:
    assert orphans.answers(listening)
    assert not orphans.answers(free_address())


@pytest.mark.slow
def test_a_real_orphan_is_ended_and_a_host_with_an_engine_is_not(listening: str, tmp_path: object) -> None:
    host = f"{tmp_path}/pulumi-language-python"
    command = [host, "-c", "import time; time.sleep(600)"]
    kept = subprocess.Popen([*command, listening], executable=sys.executable)
    orphan = subprocess.Popen([*command, free_address()], executable=sys.executable)
    try:
        assert orphan.pid in orphans.end_orphaned_hosts()
        assert orphan.wait(timeout=SECONDS) != 0
        assert kept.poll() is None
    finally:
        for process in (kept, orphan):
            process.kill()
            process.wait()


def test_an_orphan_that_ends_by_itself_meanwhile_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(pid: int, number: int) -> None:
        assert (pid, number) == (11, signal.SIGTERM)
        raise ProcessLookupError

    monkeypatch.setattr(orphans, "orphaned", lambda rows, answers: [11])
    monkeypatch.setattr(orphans.os, "kill", gone)
    monkeypatch.setattr(orphans.subprocess, "run", lambda words, **_: subprocess.CompletedProcess(words, 0, "", ""))
    assert orphans.end_orphaned_hosts() == []
