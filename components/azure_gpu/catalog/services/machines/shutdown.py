"""When a machine is billed: its power states, and the daily shutdown by Azure, which deallocates it.

A machine that was shut down from inside is billed on.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from azure_gpu.catalog import spelling
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.sources import observed

STATES_PAGE = observed("MicrosoftDocs/azure-compute-docs, articles/virtual-machines/states-billing.md", 2023, 10, 31)
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
# Windows names of common time zones, by their IANA names.
BY_PLACE: dict[str, str] = {
    "UTC": UTC,
    "Etc/UTC": UTC,
    "Europe/London": "GMT Standard Time",
    "Europe/Dublin": "GMT Standard Time",
    "Europe/Lisbon": "GMT Standard Time",
    "Europe/Amsterdam": "W. Europe Standard Time",
    "Europe/Berlin": "W. Europe Standard Time",
    "Europe/Rome": "W. Europe Standard Time",
    "Europe/Stockholm": "W. Europe Standard Time",
    "Europe/Vienna": "W. Europe Standard Time",
    "Europe/Zurich": "W. Europe Standard Time",
    "Europe/Oslo": "W. Europe Standard Time",
    "Europe/Brussels": "Romance Standard Time",
    "Europe/Copenhagen": "Romance Standard Time",
    "Europe/Madrid": "Romance Standard Time",
    "Europe/Paris": "Romance Standard Time",
    "Europe/Budapest": "Central Europe Standard Time",
    "Europe/Prague": "Central Europe Standard Time",
    "Europe/Warsaw": "Central European Standard Time",
    "Europe/Athens": "GTB Standard Time",
    "Europe/Bucharest": "GTB Standard Time",
    "Europe/Helsinki": "FLE Standard Time",
    "Europe/Kiev": "FLE Standard Time",
    "Europe/Istanbul": "Turkey Standard Time",
    "Asia/Dubai": "Arabian Standard Time",
    "Asia/Jerusalem": "Israel Standard Time",
    "Asia/Kolkata": "India Standard Time",
    "Asia/Singapore": "Singapore Standard Time",
    "Asia/Shanghai": "China Standard Time",
    "Asia/Seoul": "Korea Standard Time",
    "Asia/Tokyo": "Tokyo Standard Time",
    "Australia/Sydney": "AUS Eastern Standard Time",
    "Pacific/Auckland": "New Zealand Standard Time",
    "Africa/Johannesburg": "South Africa Standard Time",
    "America/Sao_Paulo": "E. South America Standard Time",
    "America/New_York": "Eastern Standard Time",
    "America/Toronto": "Eastern Standard Time",
    "America/Chicago": "Central Standard Time",
    "America/Denver": "Mountain Standard Time",
    "America/Phoenix": "US Mountain Standard Time",
    "America/Los_Angeles": "Pacific Standard Time",
}
KNOWN_ZONES = frozenset(BY_PLACE.values())


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
    if zone in KNOWN_ZONES:
        return
    windows = BY_PLACE.get(zone)
    if windows is not None or "/" in zone:
        fix = f"write {windows}" if windows else "list them with `tzutil /l` on Windows"
        yield refused("vm.bad_time_zone", zone_path, zone, fix=fix)
        return
    close = spelling.nearest(zone, sorted(KNOWN_ZONES), 1)
    yield refused(
        "vm.unknown_time_zone",
        zone_path,
        zone,
        fix=f"if it is misspelt, write {close[0]}" if close else "list them with `tzutil /l` on Windows",
    )
