"""`down` after a failed `up`: what Azure holds for a while is waited for."""

import json
from pathlib import Path
from typing import Any

import pytest

from azure_gpu_operations import commands
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
            events.write_text(json.dumps({"diagnosticEvent": told}), encoding="utf-8")
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
