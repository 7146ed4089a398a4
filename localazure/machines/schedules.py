"""Decides when a daily shutdown is due: times of day in Windows' time zones, which Microsoft.DevTestLab takes.

Names: Unicode CLDR, windowsZones.xml, those of the zones of Azure's regions and their neighbours.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from localazure import tables

ZONES: Mapping[str, str] = dict(tables.rows(__file__, "time_zones.tsv"))


def time_of(text: str) -> time | None:
    """`1900` as a time of day; None where it is none."""
    if len(text) != 4 or not text.isdigit() or int(text[:2]) > 23 or int(text[2:]) > 59:
        return None
    return time(int(text[:2]), int(text[2:]))


def due(text: str, zone: str, after: datetime, until: datetime) -> bool:
    """Whether the time of day comes after one instant and no later than another."""
    at, name = time_of(text), ZONES.get(zone)
    if at is None or name is None:
        return False
    local = until.astimezone(ZoneInfo(name))
    for day in (local.date(), local.date() - timedelta(days=1)):
        instant = datetime.combine(day, at, ZoneInfo(name)).astimezone(UTC)
        if after < instant <= until:
            return True
    return False
