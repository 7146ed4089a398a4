"""What `stop` and `start` mean by a name, and which resources of a plan an endpoint's change is."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from azure_gpu_operations import __main__ as command_line, azure, machine_power, stack_options, stop_and_start
from azure_gpu_operations.batch import account, drain as draining
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.machine_learning import endpoint_power
from azure_gpu_operations.run import logs_and_stop
from azure_gpu_operations.stack_view import StackView

ENDPOINTS = "azure-native:machinelearningservices:OnlineEndpoint"
ID = "/subscriptions/1/resourceGroups/g/providers/Microsoft.MachineLearningServices/workspaces/w/onlineEndpoints/digits"
VIEW = StackView(
    "dev",
    cast(Connection, None),
    endpoints={"digits": ID, "both": ID},
    vms={"trainer": "/vm", "both": "/vm"},
    pools={"train": "/subscriptions/1/resourceGroups/g/providers/Microsoft.Batch/batchAccounts/b/pools/theirs"},
)


@pytest.fixture(autouse=True)
def in_a_folder_with_a_stack_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text("config: {azure-gpu:vms: {spare: {enabled: false, size: Standard_NC4as_T4_v3}}}")
    monkeypatch.setattr(stack_options, "file_of", lambda *_: file)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done, in place of doing it. A run is there where its name ends in -run."""
    done: list[str] = []
    monkeypatch.setattr(stop_and_start, "view", lambda _: VIEW)
    monkeypatch.setattr(
        logs_and_stop, "stop", lambda options, others: done.append(f"run {options.name}{' or ' * bool(others)}{others}") or 0
    )
    monkeypatch.setattr(logs_and_stop, "is_there", lambda _, options: options.stack == "with-runs")
    monkeypatch.setattr(endpoint_power, "stop", lambda _, name, __: done.append(f"stop {name}"))
    monkeypatch.setattr(endpoint_power, "start", lambda _, name, __: done.append(f"start {name}"))
    monkeypatch.setattr(machine_power, "stop", lambda _, __, name, ___: done.append(f"deallocate {name}"))
    monkeypatch.setattr(machine_power, "start", lambda _, __, name, ___: done.append(f"start machine {name}"))
    monkeypatch.setattr(draining, "drain", lambda _, pool, name, __, limit_seconds: done.append(f"drain {pool}") or True)
    monkeypatch.setattr(azure, "Arm", lambda _: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(account, "BatchAccount", lambda *_: SimpleNamespace(close=lambda: None))
    return done


@pytest.mark.parametrize(
    ("words", "done"),
    [
        (("stop", "digits", "--stack", "dev"), ["stop digits"]),
        (("stop", "digits", "--stack", "with-runs", "--as", "endpoint"), ["stop digits"]),
        (("stop", "digits", "--stack", "with-runs", "--as", "run"), ["run digits"]),
        (("stop", "run-1", "--stack", "dev"), ["run run-1 or both, digits, train, trainer"]),
        (("stop", "trainer", "--stack", "dev"), ["deallocate trainer"]),
        (("stop", "train", "--stack", "dev"), ["drain theirs"]),
        (("stop", "both", "--stack", "dev", "--as", "machine"), ["deallocate both"]),
        (("start", "digits", "--stack", "dev"), ["start digits"]),
        (("start", "trainer", "--stack", "dev"), ["start machine trainer"]),
    ],
)
def test_a_name_is_a_part_s_first(words: tuple[str, ...], done: list[str], called: list[str]) -> None:
    assert command_line.main([*words]) == 0
    assert called == done


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("stop", "digits", "--stack", "with-runs"),
            "several have this name: endpoint, run; given: 'digits'; fix: add --as endpoint or --as run",
        ),
        (("stop", "both", "--stack", "dev"), "several have this name: endpoint, machine; given: 'both'; fix: add --as"),
        (("start", "both", "--stack", "dev"), "several have this name: endpoint, machine; given: 'both'; fix: add --as"),
        (
            ("start", "spare", "--stack", "dev"),
            "vms.spare is switched off: enabled: false in Pulumi.dev.yaml; given: 'spare'; fix:",
        ),
        (("stop", "digits", "--stack", "dev", "--as", "pool"), "the stack has no pool of this name; given: 'digits'"),
        (
            ("stop", "digit", "--stack", "dev", "--as", "endpoint"),
            "the stack has no endpoint of this name; given: 'digit'; allowed: both, digits; fix:",
        ),
        (
            ("start", "digit", "--stack", "dev"),
            "the stack has no endpoint and no machine of this name; given: 'digit'; allowed: both, digits, trainer; fix: did",
        ),
    ],
)
def test_what_isn_t_clear_is_refused_in_one_line(
    words: tuple[str, ...], said: str, called: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main([*words]) == 2
    assert called == []
    error = capsys.readouterr().err
    assert error.startswith(f"error: NAME: {said}")
    assert error.count("\n") == 1


def test_a_stack_without_what_starts_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(stop_and_start, "view", lambda _: VIEW._replace(endpoints={}, vms={}))
    assert command_line.main(["start", "digits", "--stack", "dev"]) == 2
    assert "the stack has no endpoint and no machine; given: 'digits'" in capsys.readouterr().err


def step(name: str, op: str = "same", **state: Any) -> dict[str, Any]:
    return {"urn": name, "op": op, ("oldState" if op == "delete" else "newState"): state}


def test_an_endpoint_s_change_is_what_lies_in_it_and_what_that_needs_new() -> None:
    steps = [
        step("stack"),
        step("other", "update", parent="stack"),
        step("workspace", parent="stack"),
        step("model", "create", parent="workspace", dependencies=["container"]),
        step("container", "create", parent="workspace"),
        step("unused", "create", parent="workspace"),
        step("digits", parent="stack"),
        step("digits-endpoint", parent="digits"),
        step("digits-blue", "create", parent="digits", dependencies=["digits-endpoint", "model", "other"]),
        step("digits-green", "delete", parent="digits"),
        step("digits-2", "create", parent="stack"),
    ]
    assert set(endpoint_power.targets(steps, "digits")) == {
        *("digits", "digits-endpoint", "digits-blue", "digits-green", "model", "container"),
    }


def test_an_endpoint_is_found_in_the_state_by_its_id_in_any_case() -> None:
    resources = [{"urn": "e", "type": ENDPOINTS, "id": ID.upper(), "parent": "digits"}]
    assert endpoint_power.component_of(resources, ID) == "digits"
    with pytest.raises(endpoint_power.WrongRequestError, match="the state has no endpoint digits"):
        endpoint_power.component_of([], ID)
