"""Machines started, deallocated and shown: what is asked of ARM, what is waited for, and what costs."""

from datetime import UTC, datetime
from typing import Any

import pytest

from azure_gpu_operations import virtual_machines
from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.machine_power import (
    GoneError,
    PowerError,
    deallocate_machine,
    machine_lines,
    start,
    start_machine,
    stop,
)
from azure_gpu_operations.stack_view import StackView
from azure_gpu_operations.virtual_machines import Machine, RunCommand, Shutdown

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
MACHINE = Machine(
    "/vm", "trainer", power="running", size="Standard_NC4as_T4_v3", location="eastus", shutdown=Shutdown("19:00", "UTC")
)
SMI = "Tesla T4, 7.5, 5001, 00000001:00:00.0, 15360, 15255, 580.95.05"


def view(state: str, agent: str = "Ready", **more: Any) -> dict[str, Any]:
    return {
        "statuses": [{"code": "ProvisioningState/succeeded"}, {"code": f"PowerState/{state}"}],
        "vmAgent": {"statuses": [{"displayStatus": agent}]},
        **more,
    }


class Arm:
    def __init__(self, *views: dict[str, Any] | None, refusal: Exception | None = None) -> None:
        self.views = list(views)
        self.asked: list[str] = []
        self.refusal = refusal

    def get(self, resource_id: str, api_version: str) -> dict[str, Any] | None:
        assert resource_id == "/vm/instanceView"
        return self.views.pop(0) if len(self.views) > 1 else self.views[0]

    def post(self, path: str, api_version: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        self.asked.append(path)
        if self.refusal is not None:
            raise self.refusal
        return {}


def no_sleep(_: float) -> None:
    pass


def test_a_machine_is_started_when_it_runs_and_its_agent_answers() -> None:
    arm: Any = Arm(view("starting"), view("running", "Not Ready"), view("running"))
    start_machine(arm, "/vm", sleep=no_sleep)
    assert arm.asked == ["/vm/start"]
    assert len(arm.views) == 1


def test_to_stop_is_to_deallocate_and_stopped_from_inside_is_not_enough() -> None:
    arm: Any = Arm(view("stopped"), view("deallocating"), view("deallocated"))
    deallocate_machine(arm, "/vm", sleep=no_sleep)
    assert arm.asked == ["/vm/deallocate"]
    assert len(arm.views) == 1


@pytest.mark.parametrize(
    ("arm", "said"),
    [
        (Arm(None), "doesn't exist any more"),
        (
            Arm(view("deallocated", statuses=[{"code": "ProvisioningState/failed/AllocationFailed", "message": "no room"}])),
            "no room",
        ),
        (Arm(view("starting")), "didn't start within 20 minutes; it is starting"),
        (Arm(view("running"), refusal=AzureError("AuthorizationFailed: no", 403)), "the role Virtual Machine Contributor"),
    ],
    ids=["gone", "no room", "slow", "no right"],
)
def test_a_machine_that_does_not_start_says_why(arm: Any, said: str) -> None:
    with pytest.raises(PowerError, match=said):
        start_machine(arm, "/vm", sleep=no_sleep)


def shown(machine: Machine, idle_usd: float | None = 0.027) -> str:
    return "\n".join(machine_lines(machine, idle_usd=idle_usd, expires_at="2026-12-31T00:00:00Z", now=NOW))


def test_what_is_shown_says_what_costs_now_and_what_stays() -> None:
    text = shown(MACHINE)
    assert "cost: 0.526 USD/hour (list price of 2026-06-18) for the machine, plus its disk" in text
    assert "(0.027 USD/hour)" in text
    assert "deallocated by Azure each day at 19:00, UTC" in text
    assert "its driver was never tested" in text
    assert "cost: nothing for the machine; still billed: its disk" in shown(MACHINE._replace(power="deallocated"))
    assert "cost unknown" in shown(MACHINE, None)
    assert "it is never deallocated automatically" in shown(MACHINE._replace(shutdown=Shutdown()))


def test_a_machine_that_was_shut_down_from_inside_is_billed_and_that_is_said() -> None:
    text = shown(MACHINE._replace(power="stopped"))
    assert "deallocate it to stop paying" in text
    assert "cost: 0.526 USD/hour" in text


def test_the_price_of_windows_is_not_known_and_a_proved_gpu_is_told_in_the_documents_lines() -> None:
    assert "price unknown for the machine" in shown(MACHINE._replace(windows=True))
    proved = MACHINE._replace(commands=(RunCommand("prove-driver", "Succeeded", 0, f"state: proved\n{SMI}\n"),))
    lines = [line.strip() for line in shown(proved).splitlines()]
    at = lines.index("GPU 0, driver 580.95.05, when it was deployed:")
    assert lines[at + 1 : at + 6] == [
        "name: Tesla T4",
        "major: 7 minor: 5 memoryClockRate (GHz) 5.001",
        "pciBusID 0001:00:00.0",
        "Total memory: 15.00GiB",
        "Free memory: 14.90GiB",
    ]
    failed = MACHINE._replace(commands=(RunCommand("prove-driver", "Failed", 1, ""),))
    assert "the test of its driver found none (Failed)" in shown(failed)


def switched(monkeypatch: pytest.MonkeyPatch, there: Machine | None, change: Any) -> tuple[list[str], list[str]]:
    """What ARM was asked to do with the machine, and what was said."""
    arm, said = Arm(view("running") if change is start else view("deallocated")), list[str]()
    monkeypatch.setattr(virtual_machines, "get", lambda _, machine_id: there)
    change(arm, StackView("dev", Connection("s"), vms={"trainer": "/vm"}, idle_cost={"trainer": 0.027}), "trainer", said.append)
    return arm.asked, said


def test_a_machine_that_runs_is_shown_and_one_that_does_not_is_started_and_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, said = switched(monkeypatch, MACHINE, start)
    assert (asked, said[0]) == ([], "trainer is already running")
    assert "  cost: 0.526 USD/hour" in said[3]
    assert said[-1].endswith(" stop trainer --stack dev")
    asked, said = switched(monkeypatch, MACHINE._replace(power="deallocated"), start)
    assert (asked, said[0], said[2]) == (["/vm/start"], "starting trainer", "  running")


def test_a_machine_is_deallocated_once_and_one_that_is_gone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, said = switched(monkeypatch, MACHINE, stop)
    assert asked == ["/vm/deallocate"]
    assert said[-1].startswith("trainer is deallocated; cost: nothing for the machine; still billed: its disk")
    assert switched(monkeypatch, MACHINE._replace(power="deallocated"), stop)[0] == []
    with pytest.raises(GoneError, match="deleted outside the stack"):
        switched(monkeypatch, None, start)
