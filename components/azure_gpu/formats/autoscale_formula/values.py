"""The values that a formula computes with, and their text as the service writes it in the results of a run.

Examples are `4`, `96.6667`, `[1,1,2]` and `2016-10-13T19:18:47.805Z`. No source shows how the service writes an interval; here it
is `d.hh:mm:ss`."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from azure_gpu.formats.autoscale_formula.language import TICKS_PER_SECOND, Type


@dataclass(frozen=True, order=True, slots=True)
class Interval:
    """A length of time in units of 100 ns, which is as fine as the service counts."""

    ticks: int

    @property
    def seconds(self) -> float:
        return self.ticks / TICKS_PER_SECOND


@dataclass(frozen=True, slots=True)
class Option:
    """What becomes of tasks on nodes that are taken away."""

    name: str


# A list of numbers is a tuple.
Value = float | tuple[float, ...] | str | datetime | Interval | Option


def type_of(value: Value) -> Type:
    """The type of a value, as the documentation calls it."""
    if isinstance(value, Interval):
        return Type.INTERVAL
    if isinstance(value, Option):
        return Type.OPTION
    if isinstance(value, tuple):
        return Type.VECTOR
    if isinstance(value, datetime):
        return Type.TIMESTAMP
    return Type.STRING if isinstance(value, str) else Type.DOUBLE


def text(value: Value) -> str:
    """The value as the results of a run show it."""
    if isinstance(value, Interval):
        return _interval(value)
    if isinstance(value, Option):
        return value.name
    if isinstance(value, tuple):
        return f"[{','.join(_number(one) for one in value)}]"
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value if isinstance(value, str) else _number(value)


def interval_of(length: timedelta) -> Interval:
    return Interval(length // timedelta(microseconds=1) * 10)


def _number(value: float) -> str:
    """Six digits that count, as in `$samples=96.6667`."""
    if not math.isfinite(value):
        return str(value)
    return f"{value + 0.0:.6g}"  # adding 0 turns -0 into 0


def _interval(value: Interval) -> str:
    seconds, ticks = divmod(abs(value.ticks), TICKS_PER_SECOND)
    days, rest = divmod(seconds, 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return ("-" if value.ticks < 0 else "") + (f"{days}." if days else "") + clock + (f".{ticks:07}" if ticks else "")
