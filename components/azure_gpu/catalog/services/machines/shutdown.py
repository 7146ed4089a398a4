"""When a machine is billed: its power states, and the daily shutdown by Azure, which deallocates it.

A machine that was shut down from inside is billed on.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from azure_gpu.catalog import spelling, tables
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.sources import observed
from azure_gpu.catalog.tables import Keyed, Table

# States: MicrosoftDocs/azure-compute-docs, articles/virtual-machines/states-billing.md (2023-10-31).
PREFIX = "PowerState/"


class State(NamedTuple):
    """One state. `billed` None: unknown."""

    name: str
    billed: bool | None
    note: str = ""


RUNNING = State("running", billed=True)
STOPPED = State("stopped", billed=True, note="it was shut down from inside and stays allocated: deallocate it to stop paying")
DEALLOCATED = State("deallocated", billed=False)
STATES: dict[str, State] = {
    state.name: state
    for state in (
        State("creating", billed=False),
        State("starting", billed=True),
        RUNNING,
        State("stopping", billed=True),
        STOPPED,
        State("deallocating", billed=False),
        DEALLOCATED,
    )
}


def state(code: str) -> State:
    """The state of `PowerState/running`; an unknown state has its own name."""
    name = code.removeprefix(PREFIX)
    return STATES.get(name) or State(name or "unknown", billed=None)


TASK = "ComputeVmShutdownTask"
NAME_PREFIX = "shutdown-computevm-"  # source: terraform-provider-azurerm-5536@2020-03-02
UTC = "UTC"
NOTICE_MINUTES = 30  # before the shutdown, of a mail about it; 15 to 120

ZONES = observed("pulumi-azure-native 3.29.0, devtestlab 2018-09-15, Schedule.timeZoneId", 2026, 11, 20)


_TIME = r"(?:[01]\d|2[0-3]):?[0-5]\d"
TABLE = Table(
    tables.beside(__file__, "time_zones.csv"),
    {"place": "the IANA name of a common time zone", "windows": "the name of it that the service takes"},
)
BY_PLACE = Keyed(lambda: {row.filled("place"): row.filled("windows") for row in tables.read(TABLE)})


def schedule_name(machine: str) -> str:
    """The required name of this machine's schedule."""
    return f"{NAME_PREFIX}{machine}"


def time_of(text: str) -> str:
    """`19:00` as the service writes it, 1900."""
    return text.replace(":", "")


def check(time: str, zone: str, time_path: str, zone_path: str) -> Iterator[Problem]:
    """The problems of a time of day and a time zone."""
    if re.fullmatch(_TIME, time) is None:
        yield refused("vm.bad_time", time_path, time)
    known = set(BY_PLACE.values())
    if zone in known:
        return
    windows = BY_PLACE.get(zone)
    if windows is not None or "/" in zone:
        fix = f"write {windows}" if windows else "list them with `tzutil /l` on Windows"
        yield refused("vm.bad_time_zone", zone_path, zone, fix=fix)
        return
    close = spelling.nearest(zone, sorted(known), 1)
    yield refused(
        "vm.unknown_time_zone",
        zone_path,
        zone,
        fix=f"if it is misspelt, write {close[0]}" if close else "list them with `tzutil /l` on Windows",
    )
