"""`down` after a failed `up`: what Azure holds for a while is waited for; and `up` that continues by itself."""

import json
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from azure_gpu_operations import commands
from azure_gpu_operations.guard import held
from azure_gpu_operations.stack import EngineError

RESERVED = 'Code="NicReservedForAnotherVm" Message="Nic(s) in request is reserved for another Virtual Machine for 180 seconds."'


class FailingStack:
    """A stack whose destroy fails with these errors in turn, and then succeeds."""

    def __init__(self, *errors: str) -> None:
        self.errors = list(errors)

    def destroy(self, *, quiet: bool, events: Path) -> None:
        assert not quiet
        if self.errors:
            told = {"urn": "urn", "severity": "error", "message": self.errors.pop(0)}
            events.write_text(json.dumps({"diagnosticEvent": told}) + '\n{"diagnosticEvent": {"urn": "tor', encoding="utf-8")
            raise EngineError


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(commands.time, "sleep", found.append)
    return found


def destroyed(stack: Any) -> list[str]:
    lines: list[str] = []
    commands.destroy(stack, lines.append, quiet=False)
    return lines


def test_a_reserved_interface_is_waited_for_with_one_line_that_says_until_when(slept: list[float]) -> None:
    [line] = destroyed(FailingStack(RESERVED, RESERVED))
    assert line.startswith(
        "a network interface stays reserved for a machine that didn't start, for 3 minutes; trying again until "
    )
    assert len(slept) == 2


def test_it_isnt_waited_for_longer_than_azure_holds_it(slept: list[float]) -> None:
    with pytest.raises(EngineError):
        destroyed(FailingStack(*[RESERVED] * 100))
    assert 180 < sum(slept) <= 270


def test_any_other_error_fails_at_once(slept: list[float]) -> None:
    with pytest.raises(EngineError):
        destroyed(FailingStack('Code="ScopeLocked"'))
    assert slept == []


closing_nothing = SimpleNamespace(close=lambda: None)


class Locked:
    """A stack with a registry, an account with a container, and a lock on each of the two."""

    name, project = "s", "p"
    of_registry, of_storage = "urn:pulumi:s::p::registry-lock", "urn:pulumi:s::p::storage-lock"

    def __init__(self) -> None:
        self.did: list[Any] = []

    def deployment(self) -> dict[str, Any]:
        ids = {"registry": "/r/One", "storage": "/s/a", "beside": "/s/ab", "container": "/S/a/blobServices/default/containers/m"}
        found = [{"urn": name, "type": "azure-native:some:Type", "id": id_} for name, id_ in ids.items()]
        lock, scopes = "azure-native:authorization:ManagementLockByScope", {self.of_registry: "/r/one", self.of_storage: "/s/a"}
        found += [{"urn": urn, "type": lock, "id": f"{on}/lock", "inputs": {"scope": on}} for urn, on in scopes.items()]
        return {"resources": found}

    def destroy(self, targets: Iterable[str] = (), *, quiet: bool = False, events: Path | None = None) -> None:
        self.did.append(list(targets))

    def remove(self) -> None:
        self.did.append("removed")


def test_locks_of_the_stack_go_before_what_they_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "settle", lambda stack, deployment, say: deployment)
    monkeypatch.setattr(commands.torn_state, "kept", lambda *_: nullcontext())
    stack: Any = Locked()
    commands.bring_down(stack, lambda _: None)
    assert stack.did == [[stack.of_registry, stack.of_storage], [], "removed"]


def test_what_azure_has_made_beside_a_stack_goes_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "settle", lambda stack, deployment, say: deployment)
    monkeypatch.setattr(commands.torn_state, "kept", lambda *_: nullcontext())
    monkeypatch.setattr(commands, "connection_of", lambda _: True)
    monkeypatch.setattr(commands, "left_beside", lambda _: ["a rule"])
    monkeypatch.setattr(commands, "Arm", lambda _: closing_nothing)
    stack: Any = Locked()
    monkeypatch.setattr(commands, "delete_beside", lambda arm, _: stack.did.append(arm) or ["Failure Anomalies - ml"])
    told: list[str] = []
    commands.bring_down(stack, told.append)
    assert stack.did[-2:] == [closing_nothing, "removed"]
    assert told == [
        "Failure Anomalies - ml, which Azure had made by itself: deleted",
        "stack s is removed, too; its file stays",  # the engine has just named the command that does it
    ]


@pytest.mark.parametrize(
    ("gone", "kept_by"),
    [("registry", [Locked.of_registry]), ("container", [Locked.of_storage]), ("beside", []), ("another", [])],
)
def test_a_lock_goes_with_what_is_at_its_scope_or_below(gone: str, kept_by: list[str]) -> None:
    assert held.locks(Locked().deployment(), {gone}) == kept_by


class Updated(FailingStack):
    """One whose update fails so. `half`: what the state then has of a resource that was created and isn't finished."""

    name, project, half = "s", "p", list[str]()

    def __init__(self, *errors: str) -> None:
        super().__init__(*errors)
        self.did: list[Any] = []

    def declares(self, section: str) -> bool:
        return False

    def up(self, message: str, *, events: Path, **_: object) -> None:
        self.did.append(message)
        if self.errors:
            told = {"urn": "urn:azure-native:batch:Pool::train", "severity": "error", "message": self.errors.pop(0)}
            events.write_text(json.dumps({"diagnosticEvent": told}), encoding="utf-8")
            raise EngineError

    def refresh(self, urns: Iterable[str]) -> None:
        self.did.append(list(urns))

    def deployment(self) -> dict[str, Any]:
        return {"resources": [{"urn": "urn::ml", "initErrors": self.half}]}


@pytest.fixture
def updated(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(commands.torn_state, "kept", lambda *_: nullcontext())

    def run(stack: Any) -> list[Any]:
        commands.update(stack, "up", lambda _: None)
        return stack.did

    return run


def test_a_pool_that_was_patched_is_read_and_the_update_goes_on_once(updated: Any) -> None:
    refused = 'Code="PropertyCannotBeUpdated"'
    assert updated(Updated(refused)) == ["up", ["urn:azure-native:batch:Pool::train"], "up"]
    with pytest.raises(EngineError):
        updated(Updated(refused, refused))


def test_what_was_created_and_not_finished_is_updated_where_its_reason_passes(updated: Any) -> None:
    stack = Updated("failed")
    stack.half = ["The identity does not have permission on the vault"]
    assert updated(stack) == ["up", "up"]
    stack = Updated("failed")
    stack.half = ["quota exceeded"]
    with pytest.raises(EngineError):
        updated(stack)
    assert stack.did == ["up"]
