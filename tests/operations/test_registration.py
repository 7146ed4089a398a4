"""A subscription is registered for diagnostic settings before the first `up` that has one."""

import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from azure_gpu.formats import azure_types
from azure_gpu_operations import registration
from azure_gpu_operations.connection import connection_from
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

PATH = f"/subscriptions/{SUBSCRIPTION}/providers/microsoft.insights"
REGISTER = "*/providers/*/register"


def stack(foundation: str) -> Any:
    return SimpleNamespace(project="azure-gpu", configuration=lambda: {"azure-gpu:foundation": foundation})


def state(azure: EmbeddedAzure) -> str:
    return azure.get(PATH, "2021-04-01").json()["registrationState"]


@pytest.fixture
def unregistered(connected: EmbeddedAzure) -> Iterator[EmbeddedAzure]:
    connected.fault("weather", name="unregistered-insights")
    connected.post(f"{PATH}/unregister", "2021-04-01").raise_for_status()
    assert state(connected) == "NotRegistered"
    yield connected
    connected.post(f"{PATH}/register", "2021-04-01").raise_for_status()
    connected.fault("calm", name="unregistered-insights")


def test_it_is_registered_once_and_said(unregistered: EmbeddedAzure) -> None:
    said: list[str] = []
    registration.before_first(stack('{"log_workspace": "create"}'), {}, said.append)
    assert state(unregistered) == "Registered"
    [line] = said
    assert line.startswith("registering the subscription for Microsoft.Insights")
    registration.before_first(stack('{"log_workspace": "create"}'), {}, said.append)
    assert said == [line]


def test_nothing_is_asked_where_no_logs_are_sent_or_some_are_already(unregistered: EmbeddedAzure) -> None:
    there = {"resources": [{"type": azure_types.DIAGNOSTIC_SETTING.token}]}
    registration.before_first(stack('{"storage": "create"}'), {}, pytest.fail)
    registration.before_first(stack('{"log_workspace": "create"}'), there, pytest.fail)
    assert state(unregistered) == "NotRegistered"


def test_who_may_not_register_is_told_the_command_and_up_goes_on(unregistered: EmbeddedAzure) -> None:
    unregistered.fault("fail", method="POST", path=REGISTER, status=403, code="AuthorizationFailed")
    said: list[str] = []
    registration.before_first(stack('{"log_workspace": "create"}'), {}, said.append)
    assert "az provider register --namespace Microsoft.Insights --wait" in said[-1]
    assert "AuthorizationFailed" in said[-1]


def test_it_waits_until_azure_says_so(unregistered: EmbeddedAzure, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    states = iter(["NotRegistered", "Registering", "Registering", "Registered"])
    monkeypatch.setattr(registration.Arm, "get", lambda *_: {"registrationState": next(states)})
    registration.register(connection_from({}, os.environ), lambda _: None, sleep=slept.append)
    assert slept == [5.0, 5.0]
