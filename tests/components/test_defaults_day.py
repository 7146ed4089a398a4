"""Plans follow from the stack file and the version of the package: the same on any later day, though what ended is told."""

from datetime import date
from typing import Any

import pytest

from azure_gpu.catalog import defaults_day
from azure_gpu.catalog.problems import Code, Severity
from azure_gpu.stack.look_ups import ASSUMED
from azure_gpu.stack.plan import Plan, plan
from azure_gpu.stack.settings import read
from tests.components.settings_of import configuration, encrypted

LATER = ["2026-11-26", "2027-05-01", "2028-02-01", "2030-01-01"]
END = {"expires_after": "2031-01-01"}
SAYS: dict[str, Any] = {
    "foundation": dict.fromkeys(["identity", "registry", "storage"], "create"),
    "batch_account": "create",
    "pools": {
        "tasks": {"size": "Standard_NC4as_T4_v3", **END},
        "containers": {"size": "Standard_NC24ads_A100_v4", "containers": True, **END},
        "mpi": {"size": "Standard_HB120rs_v3", "mpi": "hpcx", **END},
        "windows": {"size": "Standard_NC4as_T4_v3", "operating_system": "windows", **END},
    },
    "vms": {"one": {"size": "Standard_NC4as_T4_v3", **END}, "windows": {"size": "Standard_NV12ads_A10_v5", **END}},
    "jobs": {"train": {"workload": "mnist", **END}},
}


def planned(today: str, **more: Any) -> Plan:
    says = {**SAYS, **more}
    return plan(read(configuration(says), today, encrypted(says)), ASSUMED, "azure-gpu", "dev")


def decided(of: Plan) -> dict[str, Any]:
    """What images, drivers and GPUs were chosen."""
    pools = {
        name: (each.immutable, each.request.image, each.install_method.extension_version)
        for name, each in of.parts["pools"].items()
    }
    vms = {name: (each.image, each.driver) for name, each in of.parts["vms"].items()}
    return {**pools, **vms, "environments": {region: spec.declared for region, (spec, _) in of.parts["job_environment"].items()}}


@pytest.mark.parametrize("today", LATER)
def test_a_later_day_chooses_nothing_else(today: str) -> None:
    assert decided(planned(today)) == decided(planned(defaults_day.DAY.isoformat()))


def test_as_of_is_the_day_for_defaults_too() -> None:
    old, new = planned("2027-01-01", as_of="2023-06-01"), planned("2027-01-01")
    assert old.parts["pools"]["tasks"].request.image != new.parts["pools"]["tasks"].request.image


def test_a_default_that_has_ended_is_told_at_the_day_of_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [each for each in planned("2026-11-25").problems if each.path.startswith("pools.containers")] == []
    monkeypatch.setattr(defaults_day, "DAY", date(2023, 6, 1))
    told = [each for each in planned("2026-11-25").problems if each.path.startswith("pools.containers")]
    assert [each.code for each in told if each.severity is Severity.ERROR] == [Code.RETIRED], told


def test_before_the_day_of_this_version_defaults_are_those_of_then() -> None:
    assert defaults_day.chosen_at(None, date(2024, 1, 1)) == date(2024, 1, 1)
    assert defaults_day.chosen_at(None, date(2029, 1, 1)) == defaults_day.DAY
    assert defaults_day.chosen_at(date(2019, 6, 1), date(2029, 1, 1)) == date(2019, 6, 1)
