"""Holds quick tests to what they promise: no process, no port, no connection, no waiting for the clock, no changed environment.

A quick test, one without the mark `slow`, that does any of these fails by name, with the line that did it. The interpreter's
audit events tell of processes and sockets, wherever in the program they are used; `time.sleep` has none before Python 3.13, and
is replaced. There are millions of events, most of them of attributes that are read: a dictionary is asked for each, and only an
event of the name of one of its keys leads to a function of Python.
"""

import os
import platform
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

FORBIDDEN = {
    "subprocess.Popen": "starts a process",
    "os.posix_spawn": "starts a process",
    "os.fork": "forks",
    "os.forkpty": "forks",
    "os.exec": "replaces its process",
    "os.system": "starts a shell",
    "socket.bind": "opens a port",
    "socket.connect": "opens a connection",
    "socket.getaddrinfo": "looks a host up",
}


_PROJECT = str(Path(__file__).parents[1])  # what isn't in tests/ is called by what is
_PYTEST = "PYTEST_CURRENT_TEST"  # pytest's own


class ImpureError(AssertionError):
    """A quick test did what only slow ones may."""


class Guard:
    """One for a process: an audit hook can't be removed. It watches while a quick test runs."""

    def __init__(self) -> None:
        self.watching = False
        self.done: list[str] = []
        self.environment: dict[str, str] = {}  # as the test found it
        self._sleep = time.sleep
        platform.uname().processor  # noqa: B018  starts `uname` once, and many libraries look at it while they load
        sys.addaudithook({_Event(name, self): None for name in FORBIDDEN}.get)

    def watch(self) -> None:
        self.watching, self.done = True, []
        time.sleep = self._sleeping

    def release(self) -> None:
        self.watching = False
        time.sleep = self._sleep

    def audited(self, event: str) -> None:
        if self.watching:
            frame = sys._getframe(2)
            while frame.f_back is not None and not frame.f_code.co_filename.startswith(_PROJECT):
                frame = frame.f_back
            self._refuse(f"{FORBIDDEN[event]} ({event}, {frame.f_code.co_filename}:{frame.f_lineno})")

    def _sleeping(self, seconds: float) -> None:
        if seconds and threading.current_thread() is threading.main_thread():
            self._refuse(f"sleeps for {seconds} s")
        self._sleep(seconds)

    def _refuse(self, what: str) -> None:
        self.done.append(what)
        raise ImpureError(f"a quick test {what}: test it in its own process, or mark it `slow`")


class _Event(str):
    """A key that is compared with what has its hash alone: with the same event."""

    guard: Guard
    __hash__ = str.__hash__

    def __new__(cls, name: str, guard: Guard) -> "_Event":
        made = super().__new__(cls, name)
        made.guard = guard
        return made

    def __eq__(self, other: object) -> bool:
        self.guard.audited(str(self))
        return str.__eq__(self, other)


_guard = Guard()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if item.get_closest_marker("slow") or item.get_closest_marker("nightly"):
        return (yield)
    _guard.watch()
    _guard.environment = dict(os.environ)
    try:
        return (yield)
    finally:
        _guard.release()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Fails a test that leaves another environment than it found, which others would run in.

    What other tests' fixtures ran may be stopped after a quick test, the last that could have shared it, and isn't watched.
    """
    is_quick = _guard.watching
    _guard.release()
    result = yield
    if is_quick:
        before = _guard.environment
        left = {name for name in before.keys() | os.environ.keys() if before.get(name) != os.environ.get(name)} - {_PYTEST}
        for name in left:
            os.environ.pop(name, None)
        os.environ.update({name: before[name] for name in left & before.keys()})
        assert left == set(), "variables of the environment that the test leaves changed"
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, Any]:
    """Fails a test whose own code, or the program, caught the refusal."""
    report = yield
    if _guard.done and report.outcome == "passed":
        report.outcome = "failed"
        report.longrepr = f"a quick test {_guard.done[0]}: test it in its own process, or mark it `slow`"
    if call.when == "teardown":
        _guard.done = []
    return report
