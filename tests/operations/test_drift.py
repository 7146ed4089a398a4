"""What `operations preview --drift` takes from the engine's steps of a refresh."""

from typing import Any

import pytest

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations import drift
from azure_gpu_operations.drift import Difference
from azure_gpu_operations.stack import EngineError, Planned

CLUSTER, POOL = "azure-native:containerservice:ManagedCluster", "azure-native:containerservice:AgentPool"
ENDPOINT = "azure-native:machinelearningservices:OnlineEndpoint"
ACCOUNT = "azure-native:storage:StorageAccount"
DEPLOYMENT = "azure-native:resources:Deployment"
SYSTEM = {"name": "system", "count": 1, "minCount": 1, "powerState": {"code": "Running"}, "nodeImageVersion": "1"}
T4 = {"name": "t4ad26", "count": 0, "maxCount": 2}


def step(token: str, name: str, before: dict[str, Any], after: dict[str, Any], *paths: str, op: str = "update") -> dict[str, Any]:
    return {
        "op": op,
        "urn": f"urn:pulumi:s::p::{token}::{name}",
        "oldState": {"type": token, "inputs": before, "outputs": before},
        "newState": None if op == "delete" else {"type": token, "inputs": after, "outputs": after},
        "detailedDiff": {path: {"kind": "update", "inputDiff": True} for path in paths},
    }


def cluster(before: list[Any], after: list[Any], *paths: str) -> dict[str, Any]:
    return step(CLUSTER, "shared-cluster", {"agentPoolProfiles": before}, {"agentPoolProfiles": after}, *paths)


def test_a_property_that_somebody_changed_is_told_with_both_values() -> None:
    before, after = {"tags": {"as.of": "a"}, "keys": [{"on": True}]}, {"tags": {"as.of": "b"}, "keys": [{"on": False}]}
    assert drift.differences([step(ACCOUNT, "data", before, after, 'tags["as.of"]', "keys[0].on", "keys[3].on")]) == [
        Difference("data", ACCOUNT, "keys[0].on", "True in the state, False in Azure"),
        Difference("data", ACCOUNT, "keys[3].on", "nothing in the state, nothing in Azure"),
        Difference("data", ACCOUNT, 'tags["as.of"]', "a in the state, b in Azure"),
    ]


def test_what_is_gone_is_told_and_what_only_azure_says_is_not() -> None:
    outputs_alone = step(ACCOUNT, "data", {}, {}, "status")
    outputs_alone["detailedDiff"]["status"]["inputDiff"] = False
    gone = step(ACCOUNT, "models", {}, {}, op="delete")
    assert drift.differences([outputs_alone, gone]) == [Difference("models", ACCOUNT, "", "is missing in Azure")]


def test_a_stopped_endpoint_is_named_and_is_no_drift() -> None:
    tags = {"tags": {"stopped-since": "2026-11-25T20:00:00Z"}}
    steps = [step(ENDPOINT, "digits-endpoint", {}, tags, "tags"), step(ENDPOINT, "letters-endpoint", {}, {})]
    assert drift.differences(steps) == []
    assert list(drift.stopped(steps)) == [
        f"digits-endpoint ({ENDPOINT}): stopped since 2026-11-25T20:00:00Z, until `{COMMAND} start`"
    ]


def test_what_services_change_by_themselves_is_no_drift() -> None:
    scaled = step(POOL, "shared-pool-t4", T4, {**T4, "count": 2}, "count", "powerState.code")
    stopped = {**SYSTEM, "count": 3, "powerState": {"code": "Stopped"}, "nodeImageVersion": "2"}
    body = cluster([SYSTEM], [{**T4, "count": 2}, stopped], "agentPoolProfiles[0].name", "agentPoolProfiles[1]")
    endpoint = step(ENDPOINT, "digits-endpoint", {}, {}, "properties.traffic", "tags.team")
    capacity = step("azure-native:machinelearningservices:OnlineDeployment", "blue", {}, {}, "sku.capacity")
    assert drift.differences([scaled, body, endpoint, capacity]) == []


def test_a_system_pool_that_somebody_changed_and_pools_of_somebody_else_are_drift() -> None:
    own = step(POOL, "shared-pool-t4", T4, T4, op="same")
    body = cluster([SYSTEM, {"name": "old"}], [T4, {"name": "new"}, {**SYSTEM, "minCount": 2}])
    assert drift.differences([own, body]) == [
        Difference("shared-cluster", CLUSTER, "agentPoolProfiles.new", "isn't declared in the stack"),
        Difference("shared-cluster", CLUSTER, "agentPoolProfiles.old", "is gone"),
        Difference("shared-cluster", CLUSTER, "agentPoolProfiles.system.minCount", "1 in the state, 2 in Azure"),
    ]


def test_an_endpoints_drift_is_that_of_its_template() -> None:
    def template(name: str, told: str, op: str) -> dict[str, Any]:
        return step(DEPLOYMENT, name, {}, {"properties": {"template": {"metadata": {"drift": told}}}}, op=op)

    steps = [template("a-traffic", "traffic is blue 50", "update"), template("b-traffic", "repaired before", "same")]
    assert drift.of_endpoints([*steps, step(ACCOUNT, "data", {}, {})]) == [
        Difference("a-traffic", ENDPOINT, "", "traffic is blue 50")
    ]


class OfStack:
    """A stack whose engine answers what the test says."""

    name = "dev"

    def __init__(self, steps: list[Any] | EngineError, planned: Planned) -> None:
        self.steps, self.of_preview = steps, planned

    def refreshed(self) -> list[Any]:
        if isinstance(self.steps, EngineError):
            raise self.steps
        return self.steps

    def deployment(self) -> dict[str, Any]:
        return {"resources": []}

    def planned(self) -> Planned:
        return self.of_preview


@pytest.mark.parametrize(
    ("steps", "planned", "code", "told", "wrong"),
    [
        ([], Planned([], ()), 0, "stack dev: no drift\n", ""),
        (
            [step(ACCOUNT, "data", {"a": "x"}, {"a": "y\x1b[2J"}, "a")],
            Planned([], ("not requested",)),
            3,
            f"data ({ACCOUNT}): a: x in the state, y [2J in Azure\n"
            f"1 difference; `{COMMAND} pulumi refresh --stack dev` and then `up` restore what the stack file declares\n",
            "",
        ),
        (EngineError("no such stack"), Planned([], ()), 1, "", "error: no such stack\n"),
        ([step(ENDPOINT, "e", {}, {}, op="same")], Planned([], ("a", "b")), 1, "", "error: a; b\n"),
    ],
    ids=["none", "one, printed without escapes", "no stack", "no plan"],
)
def test_the_exit_code_says_whether_there_is_drift(
    steps: Any,
    planned: Planned,
    code: int,
    told: str,
    wrong: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stack: Any = OfStack(steps, planned)
    assert drift.show(stack, count_undeclared=False) == code
    assert capsys.readouterr() == (told, wrong)
