"""The most nodes that an autoscale formula gives, whatever waits: a task that needs more would wait for ever.

In: the formula of a pool. Out: dedicated and Spot nodes together, at the busiest hour of a week; None where that can't be told.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from azure_gpu.formats.autoscale_formula import evaluate, parse

_A_WEEK = [datetime(2026, 1, 5, tzinfo=UTC) + timedelta(hours=hours) for hours in range(7 * 24)]
_MANY = 1_000_000.0
_EVERY = timedelta(seconds=30)
_TASKS = ("$PendingTasks", "$ActiveTasks")


class _Busy:
    """Many tasks wait, for an hour already. Of everything else there is `other`."""

    def __init__(self, now: datetime, other: float) -> None:
        self._times = [now - _EVERY * index for index in range(120, -1, -1)]
        self._other = other

    def series(self, variable: str) -> Sequence[tuple[datetime, float]]:
        value = _MANY if variable in _TASKS else self._other
        return [(time, value) for time in self._times]


def most_nodes(text: str) -> int | None:
    formula, _ = parse(text)
    if formula is None:
        return None
    runs = [evaluate(formula, _Busy(now, other), now) for now in _A_WEEK for other in (0.0, 1.0, _MANY)]
    if any(run.error for run in runs):
        return None
    return max(run.dedicated + run.spot for run in runs)
