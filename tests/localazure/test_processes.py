"""A process known by its id and its start time."""

import subprocess
import sys

import pytest

from localazure import process
from localazure.process import ProcessId, start_time, this_process

pytestmark = pytest.mark.slow
SLEEPER = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"]
STUBBORN = [sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(600)"]


def started(command: list[str]) -> "subprocess.Popen[bytes]":
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    return child


def known(child: "subprocess.Popen[bytes]") -> ProcessId:
    return ProcessId(child.pid, start_time(child.pid))


def test_a_process_is_alive_until_it_ends() -> None:
    assert this_process().alive
    child = started(SLEEPER)
    found = known(child)
    assert found.alive
    assert found.end(10)
    assert not found.alive  # it was not collected yet, and counts as gone all the same
    child.wait()
    assert start_time(child.pid) == ""


def test_one_that_doesnt_listen_is_killed() -> None:
    child = started(STUBBORN)
    assert not known(child).end(0.2)
    assert child.wait() == -9


def test_a_reused_id_is_never_taken_for_the_process() -> None:
    child = started(SLEEPER)
    other = ProcessId(child.pid, "another time")
    assert not other.alive
    assert other.end(1)
    assert child.poll() is None
    child.kill()
    child.wait()


def test_ps_tells_processes_apart_where_there_is_no_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "start_time", process._start_time_by_ps)
    child = started(SLEEPER)
    found = ProcessId(child.pid, process._start_time_by_ps(child.pid))
    assert found.started
    assert found.alive
    assert found.end(10)
    child.wait()
    assert process._start_time_by_ps(child.pid) == ""
