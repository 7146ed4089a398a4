"""A server in the form of the Retail Prices API, an environment connected to the embedded Azure, what `explain` says there."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Self
from unittest import mock

import pytest

from azure_gpu.stack import look_ups
from azure_gpu.stack.keys import FILE_VARIABLE
from azure_gpu_operations import local_connection
from azure_gpu_operations.__main__ import main
from azure_gpu_operations.graph import recorded, recording
from azure_gpu_operations.project import engine_environment
from tests.support import azure_clients, preflight as preflights, web
from tests.support.embedded import CHECKOUT, EmbeddedAzure
from tests.support.in_process import BEGAN, InProcessAzure
from tests.support.retail_prices import RetailPricesServer

_ANSWERS: dict[str, str] = {}  # of programs, by all that they see


@pytest.fixture(autouse=True)
def _no_stack_of_this_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `make up` has left here is none of a test's."""
    monkeypatch.setattr(local_connection, "CHECKOUT", None)


class OnTheDay(datetime):
    """The time of a program, on the day of the embedded Azure: a budget begins with the month of its creation."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls.fromtimestamp(BEGAN.timestamp(), tz)


@pytest.fixture
def recorded_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """`graph.recorded` runs a program in the test's process, which gets back what the program changes in it.

    The program asks nobody: of the same stack file, alone in its folder, it declares the same, and runs once.
    """

    def run(request: dict[str, Any], environment: dict[str, str]) -> str:
        with monkeypatch.context() as changed, mock.patch.dict(os.environ, environment):
            changed.setattr(look_ups, "BY_PROVIDER", look_ups.BY_PROVIDER)
            changed.setattr("datetime.datetime", OnTheDay)
            changed.setattr(sys, "path", [request["program"], *sys.path])
            changed.chdir(request["program"])
            try:
                return json.dumps(recording.run(request))
            finally:
                asyncio.get_event_loop().close()

    @contextmanager
    def answering(requests: Sequence[dict[str, Any]]) -> Iterator[recorded.Answers]:
        yield lambda: [answer(each, {**engine_environment(), **each["environment"]}) for each in requests]

    def answer(request: dict[str, Any], environment: dict[str, str]) -> dict[str, Any]:
        file = Path(environment[FILE_VARIABLE])
        if request["program"] != str(CHECKOUT) or [*file.parent.iterdir()] != [file]:
            return json.loads(run(request, environment))
        others = {name: value for name, value in environment.items() if name not in (FILE_VARIABLE, "PYTEST_CURRENT_TEST")}
        asked = json.dumps([{**request, "environment": {}}, others], sort_keys=True)
        if asked not in _ANSWERS:
            _ANSWERS[asked] = run(request, environment)
        return json.loads(_ANSWERS[asked])

    monkeypatch.setattr(recorded, "_answering", answering)


@pytest.fixture
def server() -> Iterator[RetailPricesServer]:
    running = RetailPricesServer()
    with web.answered(running.answer):
        yield running


@pytest.fixture(scope="session")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessAzure]:
    """Not the one of tests/localazure: commands ask each account of their subscription, and it has some hundred."""
    server = InProcessAzure(tmp_path_factory.mktemp("azure"))
    yield server
    server.stop()


@pytest.fixture
def signed_in(azure: EmbeddedAzure, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedAzure]:
    """Whose clients in this process are signed in to the embedded Azure."""
    with azure_clients.connected(azure, monkeypatch):
        yield azure


@pytest.fixture
def connected(signed_in: EmbeddedAzure) -> Iterator[EmbeddedAzure]:
    """The same, for tests that make it fail."""
    yield signed_in
    signed_in.clear_faults()


@pytest.fixture
def preflight(
    connected: EmbeddedAzure, recorded_here: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> preflights.Run:
    """Exit code and report of `preflight ... --json` on the embedded Azure."""
    assert connected.url
    return preflights.alone(monkeypatch, capsys)


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str]) -> Callable[[str], dict[str, Any]]:
    """What `explain ID --json` says."""

    def run(resource_id: str) -> dict[str, Any]:
        capsys.readouterr()
        code = main(["explain", resource_id, "--json"])
        told = json.loads(capsys.readouterr().out)
        assert code == {"UNKNOWN": 3, "HEALTHY": 0, "STARTING": 0}.get(told["cause"], 1), told
        return told

    return run
