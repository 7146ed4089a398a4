"""What deployments write while an update waits for them."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from azure_gpu_operations.azure import Arm
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.machine_learning import deployment_logs
from azure_gpu_operations.machine_learning.deployment_logs import HIDDEN, new, pending
from tests.support.patience import SECONDS

ENDPOINT = "/subscriptions/s/resourceGroups/g/providers/Microsoft.MachineLearningServices/workspaces/w/onlineEndpoints/Digits"
DEPLOYMENT = "azure-native:machinelearningservices:OnlineDeployment"
INPUTS = {"endpointName": "Digits", "deploymentName": "blue", "workspaceName": "w"}
PARENT = "urn:pulumi:dev::azure-gpu::azuregpu:index:MlEndpoint::digits"


def state(*operations: dict[str, Any]) -> dict[str, Any]:
    return {
        "resources": [
            {"type": "azure-native:machinelearningservices:OnlineEndpoint", "id": ENDPOINT},
            {"type": "pulumi:providers:azure-native", "inputs": {"subscriptionId": "s"}},
        ],
        "pending_operations": list(operations),
    }


CREATING = {"type": "creating", "resource": {"type": DEPLOYMENT, "inputs": INPUTS, "parent": PARENT}}


def test_a_deployment_that_is_being_made_is_found_by_its_endpoint() -> None:
    assert pending(state(CREATING)) == {f"{ENDPOINT}/deployments/blue": "digits/blue"}


def test_one_that_goes_or_is_something_else_is_none() -> None:
    going = {**CREATING, "type": "deleting"}
    other = {"type": "creating", "resource": {"type": "azure-native:resources:ResourceGroup", "inputs": {}}}
    assert pending(state(going, other)) == {}
    assert pending({}) == {}


@pytest.mark.parametrize(
    ("before", "now", "come"),
    [
        ([], ["a", "b"], ["a", "b"]),
        (["a", "b"], ["a", "b"], []),
        (["a", "b"], ["a", "b", "c"], ["c"]),
        (["a", "b", "c"], ["b", "c", "d"], ["d"]),
        (["a", "b"], ["x", "y"], ["x", "y"]),
        (["a", "a"], ["a", "a", "a"], ["a"]),
    ],
)
def test_of_a_log_whose_last_lines_are_read_each_comes_once(before: list[str], now: list[str], come: list[str]) -> None:
    assert list(new(before, now)) == come


class Update:
    """A stack whose state the engine writes while it updates."""

    def __init__(self) -> None:
        self.state = state(CREATING)

    def deployment(self) -> dict[str, Any]:
        return self.state


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What both containers have written, behind an `Arm` that asks nobody."""
    written: dict[str, list[str]] = {"StorageInitializer": [], "InferenceServer": []}

    class Silent(Arm):
        def __init__(self, connection: Connection) -> None:
            assert connection == Connection("s")

        def post(self, path: str, api_version: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
            assert path == f"{ENDPOINT}/deployments/blue/getLogs"
            assert body is not None
            return {"content": "\n".join(written[body["containerType"]])}

        def close(self) -> None:
            pass

    monkeypatch.setattr(deployment_logs, "Arm", Silent)
    return written


URN = f"urn:pulumi:dev::azure-gpu::{DEPLOYMENT}::digits-blue"


def event(kind: str, op: str, urn: str = URN) -> str:
    return json.dumps({kind: {"metadata": {"op": op, "urn": urn, "type": urn.split("::")[2]}}})


BEGUN = event("resourcePreEvent", "create")


@pytest.mark.parametrize(
    ("events", "is_one_changed"),
    [
        ([], False),
        ([BEGUN], True),
        ([event("resourcePreEvent", "update")], True),
        ([event("resourcePreEvent", "create-replacement")], True),
        ([event("resourcePreEvent", "same")], False),
        ([event("resourcePreEvent", "delete")], False),
        ([event("resourcePreEvent", "create", URN.replace("OnlineDeployment", "Workspace"))], False),
        ([BEGUN, event("resOutputsEvent", "create")], False),
        ([BEGUN, event("resOpFailedEvent", "create")], False),
        ([BEGUN, event("resourcePreEvent", "create", f"{URN}-green"), event("resOutputsEvent", "create")], True),
        ([BEGUN[:-5]], False),
    ],
)
def test_the_events_tell_whether_a_deployment_is_changed(events: list[str], is_one_changed: bool) -> None:
    assert deployment_logs.is_changed(events) is is_one_changed


def test_lines_are_shown_as_they_come_and_the_last_ones_after_the_end(logs: dict[str, list[str]], tmp_path: Path) -> None:
    events = tmp_path / "events.json"
    events.write_text(BEGUN)
    said: list[str] = []
    came = threading.Condition()

    def say(line: str) -> None:
        with came:
            said.append(line)
            came.notify()

    def until(count: int) -> None:
        with came:
            assert came.wait_for(lambda: len(said) >= count, timeout=SECONDS), said

    update = Update()
    logs["StorageInitializer"].append("1 file in 0.1 s")
    with deployment_logs.shown(update, say, events, 0.01):
        until(1)
        logs["InferenceServer"] += ["init\x1b[0m", "https://x.blob.core.windows.net/m?sig=abc"]
        until(3)
        logs["InferenceServer"].append("ready")
        update.state = state()
    assert said == [
        "digits/blue storage-initializer: 1 file in 0.1 s",
        "digits/blue inference-server: init [0m",
        f"digits/blue inference-server: {HIDDEN}",
        "digits/blue inference-server: ready",
    ]
