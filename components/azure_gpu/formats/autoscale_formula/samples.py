"""What the service measured: one value every 30 seconds, of which some may be late or missing; `GetSample` and its like."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from azure_gpu.formats.autoscale_formula.language import SAMPLE_SECONDS

Series = Sequence[tuple[datetime, float]]  # oldest first


class Samples(Protocol):
    """Where samples come from. A variable of which there are none has an empty series."""

    def series(self, variable: str) -> Series: ...


class TooFewSamplesError(Exception):
    """Fewer samples than a formula asks for; the service then changes nothing."""


def newest(series: Series, count: int) -> tuple[float, ...]:
    """The last `count` samples, or as many as there are."""
    return tuple(float(value) for _, value in series[-count:]) if count > 0 else ()


def between(series: Series, one: datetime, other: datetime, percent: float) -> tuple[float, ...]:
    """The samples between two times, whichever is the earlier. TooFewSamplesError where they are less than `percent` of all."""
    found = _between(series, one, other)
    share = _share(len(found), one, other)
    if share < percent:
        raise TooFewSamplesError(f"{share:.6g} percent of the samples are there, and {percent:.6g} are asked for")
    return found


def percent_between(series: Series, one: datetime, other: datetime) -> float:
    """How many of the samples that there should be are there, in percent."""
    return _share(len(_between(series, one, other)), one, other)


def _between(series: Series, one: datetime, other: datetime) -> tuple[float, ...]:
    first, last = min(one, other), max(one, other)
    return tuple(float(value) for at, value in series if first < at <= last)


def _share(found: int, one: datetime, other: datetime) -> float:
    possible = math.ceil(abs(other - one) / timedelta(seconds=SAMPLE_SECONDS))
    return min(100.0, 100.0 * found / possible) if possible else 0.0
