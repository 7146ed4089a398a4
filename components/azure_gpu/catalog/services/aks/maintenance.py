"""Maintenance windows of an AKS cluster: the times at which AKS may upgrade it."""

import re
from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.sources import Dated, Source

PAGE = Source("Microsoft Learn, articles/aks/planned-maintenance.md", Dated.OBSERVED, date(2025, 12, 19))

CLUSTER_WINDOW = "aksManagedAutoUpgradeSchedule"
NODES_WINDOW = "aksManagedNodeOSUpgradeSchedule"
HOURS = (4, 24)


_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_OFFSET = r"[+-](?:0[0-9]|1[0-4]):[0-5][0-9]"


def check(start: str, hours: int, utc_offset: str, path: str) -> Iterator[Problem]:
    """The problems of a window like this."""
    if re.fullmatch(_TIME, start) is None:
        yield _problem(f"{path}.start", "not a valid time of day", start, "HH:MM, such as 02:00", 'write "02:00", in quotes')
    if not HOURS[0] <= hours <= HOURS[1]:
        allowed = f"{HOURS[0]} to {HOURS[1]} hours"
        yield _problem(
            f"{path}.hours", "a window of this length isn't supported with automatic upgrades", hours, allowed, "write 4"
        )
    if re.fullmatch(_OFFSET, utc_offset) is None:
        yield _problem(
            f"{path}.utc_offset", "not a valid offset from UTC", utc_offset, "±HH:MM, such as +05:30", 'write "+00:00"'
        )


def _problem(path: str, message: str, value: object, allowed: str, fix: str) -> Problem:
    return Problem(path=path, message=message, value=value, allowed=allowed, fix=fix, source=str(PAGE))
