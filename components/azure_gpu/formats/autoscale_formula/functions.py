"""The functions of formulas.

`percentile` takes the value at that rank of the sorted list, and `round` rounds halves away from zero; no source documents how
the service computes the first. FunctionError is raised for arguments that have no result."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from azure_gpu.formats.autoscale_formula.values import Value


class FunctionError(Exception):
    """Why a function has no result."""


def of_list(name: str, numbers: Sequence[float]) -> float:
    """`avg`, `len`, `max`, `min`, `norm`, `range`, `std` or `sum` of a list."""
    if not numbers and name not in ("len", "sum", "norm"):
        raise FunctionError(f"{name}(…) has no value: the list is empty")
    if name == "std" and len(numbers) == 1:
        raise FunctionError("std(…) needs two values or more")
    result = _OF_LISTS[name](numbers)
    if not math.isfinite(result):
        raise FunctionError(f"{name}(…) is too large")
    return result


def component_wise(name: str, number: float) -> float:
    """`ceil`, `floor`, `lg`, `ln`, `log` or `round` of a number."""
    if name in ("lg", "ln", "log") and number <= 0:
        raise FunctionError(f"{name}(…) has no value for {number:g}")
    return _COMPONENT_WISE[name](number)


def percentile(numbers: Sequence[float], percent: float) -> float:
    if not numbers:
        raise FunctionError("percentile(…) has no value: the list is empty")
    if not 0 <= percent <= 100:
        raise FunctionError(f"percentile(…) takes 0 to 100, and this is {percent:g}")
    ordered = sorted(numbers)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def val(numbers: Sequence[float], index: float) -> float:
    if not 0 <= index < len(numbers):
        raise FunctionError(f"val(…) has no element {index:g}: the list has {len(numbers)}")
    return numbers[int(index)]


def rand() -> float:
    return random.random()  # noqa: S311 (the formula's own, no secret)


def time(text: str, now: datetime) -> datetime:
    """The moment of a text in one of the two forms that the service reads: W3C-DTF and RFC 1123. Without a text: now."""
    if not text:
        return now
    for form in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = form(text)
        except (ValueError, TypeError, OverflowError):
            continue
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    raise FunctionError(f"time(…) takes 2026-11-21T08:00:00Z or Sat, 21 Nov 2026 08:00:00 GMT, and this is {text!r}")


def member(name: str, moment: datetime) -> float:
    """A part of a timestamp. Monday is 1; Sunday is assumed to be 0."""
    if name == "weekday":
        return float(moment.isoweekday() % 7)
    return float(getattr(moment, name))


def flat(values: Sequence[Value]) -> tuple[float, ...]:
    """Numbers and lists of numbers as one list."""
    numbers: list[float] = []
    for value in values:
        if isinstance(value, tuple):
            numbers.extend(value)
        elif isinstance(value, float):
            numbers.append(value)
    return tuple(numbers)


def _deviation(numbers: Sequence[float]) -> float:
    """Of a sample: divided by one less than its size."""
    mean = math.fsum(numbers) / len(numbers)
    return math.sqrt(math.fsum((number - mean) * (number - mean) for number in numbers) / (len(numbers) - 1))


def _round(number: float) -> float:
    return math.copysign(math.floor(abs(number) + 0.5), number)


_OF_LISTS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "avg": lambda numbers: math.fsum(numbers) / len(numbers),
    "len": lambda numbers: float(len(numbers)),
    "max": max,
    "min": min,
    "norm": lambda numbers: math.hypot(*numbers),
    "range": lambda numbers: max(numbers) - min(numbers),
    "std": _deviation,
    "sum": math.fsum,
}
_COMPONENT_WISE: Mapping[str, Callable[[float], float]] = {
    "ceil": lambda number: float(math.ceil(number)),
    "floor": lambda number: float(math.floor(number)),
    "lg": math.log2,
    "ln": math.log,
    "log": math.log10,
    "round": _round,
}
