"""Durations as ISO 8601 writes them, such as `PT15M` or `P1DT2H`."""

import re
from datetime import timedelta
from typing import NamedTuple

_SIZES = {"weeks": 604_800.0, "days": 86_400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}
_FORM = (
    r"(?P<sign>-?)P(?=[0-9T])(?:(?P<years>[0-9]{1,4})Y)?(?:(?P<months>[0-9]{1,5})M)?(?:(?P<weeks>[0-9]{1,9})W)?"
    r"(?:(?P<days>[0-9]{1,9})D)?(?:T(?=[0-9])(?:(?P<hours>[0-9]{1,9})H)?(?:(?P<minutes>[0-9]{1,9})M)?"
    r"(?:(?P<seconds>[0-9]{1,10}(?:\.[0-9]{1,9})?)S)?)?"
)


class Duration(NamedTuple):
    """A duration. Months, of which a year has 12, have no length of their own."""

    months: int
    seconds: float  # of its weeks, days, hours, minutes and seconds


def read(text: str) -> Duration | None:
    """Returns the duration of a text; None where it isn't one."""
    found = re.fullmatch(_FORM, text)
    if found is None:
        return None
    sign = -1 if found["sign"] else 1
    seconds = sum(float(found[name] or 0) * size for name, size in _SIZES.items())
    return Duration(sign * (12 * int(found["years"] or 0) + int(found["months"] or 0)), sign * seconds)


def seconds(text: str) -> float | None:
    """Returns the seconds of a duration from 0 on without months, which services use for time limits; None for any other text."""
    found = read(text)
    return found.seconds if found is not None and not found.months and not text.startswith("-") else None


def length(text: str) -> timedelta | None:
    """Returns the same as a length of time; the longest that there is where it is longer."""
    found = seconds(text)
    try:
        return None if found is None else timedelta(seconds=found)
    except OverflowError:
        return timedelta.max
