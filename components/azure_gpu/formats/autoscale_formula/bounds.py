"""The fewest and the most nodes that an autoscale formula requests over a week; None if they can't be determined."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from azure_gpu.formats.autoscale_formula.evaluation import Targets, evaluate
from azure_gpu.formats.autoscale_formula.formula import parse

_A_WEEK = [datetime(2026, 1, 5, tzinfo=UTC) + timedelta(hours=hours) for hours in range(7 * 24)]
_MANY = 1_000_000.0
_EVERY = timedelta(seconds=30)
_TASKS = ("$PendingTasks", "$ActiveTasks")


class _Steady:
    """So many tasks wait, for an hour already. Of everything else there is `other`."""

    def __init__(self, now: datetime, tasks: float, other: float) -> None:
        self._times = [now - _EVERY * index for index in range(120, -1, -1)]
        self._tasks = tasks
        self._other = other

    def series(self, variable: str) -> Sequence[tuple[datetime, float]]:
        value = self._tasks if variable in _TASKS else self._other
        return [(time, value) for time in self._times]


@lru_cache(maxsize=64)  # hundreds of runs, and a pool is judged several times
def idle_nodes(text: str) -> tuple[int, int] | None:
    """The dedicated and the Spot nodes at the busiest hour of a week in which nothing waits and nothing runs."""
    runs = _runs(text, ((0.0, 0.0),))
    return max(((run.dedicated, run.spot) for run in runs), key=sum) if runs else None


@lru_cache(maxsize=64)
def most_nodes(text: str) -> int | None:
    """Dedicated and Spot nodes together, at the busiest hour of a week: a task that needs more would wait for ever."""
    runs = _busy(text)
    return max(run.dedicated + run.spot for run in runs) if runs else None


@lru_cache(maxsize=64)
def most_of_each(text: str) -> tuple[int, int] | None:
    """Dedicated nodes, and Spot nodes, each at its own busiest hour."""
    runs = _busy(text)
    return (max(run.dedicated for run in runs), max(run.spot for run in runs)) if runs else None


def _busy(text: str) -> list[Targets] | None:
    return _runs(text, ((_MANY, other) for other in (0.0, 1.0, _MANY)))


def _runs(text: str, loads: Iterable[tuple[float, float]]) -> list[Targets] | None:
    formula, _ = parse(text)
    if formula is None:
        return None
    runs = [evaluate(formula, _Steady(now, *load), now) for load in loads for now in _A_WEEK]
    return None if any(run.error for run in runs) else [run.targets for run in runs]
