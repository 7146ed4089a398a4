"""The words and values of autoscale formulas.

Sources: MicrosoftDocs/azure-docs, articles/batch/batch-automatic-scaling.md, in its versions of 2019-10-24, 2020-12-21 and
2025-06-05; the two names of before 2017 are in the documentation of Test-AzureBatchAutoScale. No version documents whether letter
case matters: here it does. Nor does one show how the service writes an interval in the results of a run; here it is
`d.hh:mm:ss`."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum


class Type(StrEnum):
    """The types of values, by the names that the documentation gives them."""

    DOUBLE = "double"
    VECTOR = "doubleVec"
    STRING = "string"
    TIMESTAMP = "timestamp"
    INTERVAL = "timeinterval"
    OPTION = "node deallocation option"
    NOTHING = "nothing"  # what stop() gives
    UNKNOWN = "unknown"  # either branch of a choice


DEDICATED = "$TargetDedicatedNodes"
SPOT = "$TargetLowPriorityNodes"
DEALLOCATION = "$NodeDeallocationOption"
# The short name counts where the full one isn't set.
ALIASES: Mapping[str, str] = {"$TargetDedicated": DEDICATED, "$TargetLowPriority": SPOT}
TARGETS = (DEDICATED, SPOT, *ALIASES)
WRITABLE = (*TARGETS, DEALLOCATION)

TASKS = ("$ActiveTasks", "$RunningTasks", "$PendingTasks", "$SucceededTasks", "$FailedTasks")
NODES = ("$CurrentDedicatedNodes", "$CurrentLowPriorityNodes", "$PreemptedNodeCount", "$UsableNodeCount", "$SampleNodeCount")
_RESOURCES = (
    "$CPUPercent",
    "$WallClockSeconds",
    "$MemoryBytes",
    "$DiskBytes",
    "$DiskReadBytes",
    "$DiskWriteBytes",
    "$DiskReadOps",
    "$DiskWriteOps",
    "$NetworkInBytes",
    "$NetworkOutBytes",
)
# Names of before there were two kinds of nodes.
OLD_NAMES: Mapping[str, str] = {"$CurrentDedicated": "$CurrentDedicatedNodes", "$CurrentLowPriority": "$CurrentLowPriorityNodes"}
READ_ONLY = (*TASKS, *NODES, "$TaskSlotsPerNode", *_RESOURCES, *OLD_NAMES)

OPTIONS = ("requeue", "terminate", "taskcompletion", "retaineddata")
TICKS_PER_SECOND = 10_000_000  # an interval counts in units of 100 ns
INTERVALS: Mapping[str, int] = {
    "TimeInterval_Zero": 0,
    "TimeInterval_100ns": 1,
    "TimeInterval_Microsecond": 10,
    "TimeInterval_Millisecond": 10_000,
    "TimeInterval_Second": TICKS_PER_SECOND,
    "TimeInterval_Minute": 60 * TICKS_PER_SECOND,
    "TimeInterval_Hour": 3600 * TICKS_PER_SECOND,
    "TimeInterval_Day": 86_400 * TICKS_PER_SECOND,
    "TimeInterval_Week": 7 * 86_400 * TICKS_PER_SECOND,
    "TimeInterval_Year": 365 * 86_400 * TICKS_PER_SECOND,  # assumed: the page doesn't give its number of days
}
# The words that have a value before anything is set. One that the service measures is, as a number, its newest sample.
KNOWN: Mapping[str, Type] = {
    **dict.fromkeys((*READ_ONLY, *TARGETS), Type.DOUBLE),
    **dict.fromkeys((DEALLOCATION, *OPTIONS), Type.OPTION),
    **dict.fromkeys(INTERVALS, Type.INTERVAL),
}
TIMESTAMP_MEMBERS = ("year", "month", "day", "weekday", "hour", "minute", "second")

VECTOR_OF = "vec"  # makes a list of numbers, so that a component-wise function gives one
SAMPLE_SECONDS = 30  # between two samples


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


_TYPES: Mapping[type, Type] = {
    **{float: Type.DOUBLE, tuple: Type.VECTOR, str: Type.STRING},
    **{datetime: Type.TIMESTAMP, Interval: Type.INTERVAL, Option: Type.OPTION},
}


def type_of(value: Value | Type) -> Type:
    """The type of a value, as the documentation calls it. The checks have the type itself in place of the value."""
    return value if isinstance(value, Type) else _TYPES[type(value)]


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
