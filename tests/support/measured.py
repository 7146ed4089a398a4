"""Samples of a Batch pool for autoscale formulas: one value every 30 seconds, some of which may be missing.

In: numbers and the time. Out: series, and `Measured`, which formulas are evaluated with.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

Series = Sequence[tuple[datetime, float]]
STEP = timedelta(seconds=30)


class Measured:
    """Samples by the name of their variable."""

    def __init__(self, series: Mapping[str, Series] | None = None) -> None:
        self._series = dict(series or {})

    def series(self, variable: str) -> Series:
        return self._series.get(variable, ())


def steady(value: float, now: datetime, minutes: float = 60, *, missing_minutes: float = 0) -> Series:
    """The same value for so long; the newest samples, of the last `missing_minutes`, haven't come yet."""
    return values([value] * int(minutes * 2), now - timedelta(minutes=missing_minutes))


def values(numbers: Sequence[float], now: datetime) -> Series:
    """These values, the last of them at `now`."""
    return [(now - STEP * age, number) for age, number in zip(range(len(numbers) - 1, -1, -1), numbers, strict=True)]
