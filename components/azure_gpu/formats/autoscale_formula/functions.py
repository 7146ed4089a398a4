"""The functions, methods and operators of formulas, in tables by which the checks and the evaluation go, and the samples that the
service measured.

A variable has one value every 30 seconds, of which some may be late or missing. `percentile` takes the value at that rank of the
sorted list, and `round` rounds halves away from zero; no source documents how the service computes the first. The types of the
operands were checked as far as that is possible without samples; an error is raised for the others."""

import math
import operator
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, Protocol

from azure_gpu.formats.autoscale_formula.language import (
    SAMPLE_SECONDS,
    TICKS_PER_SECOND,
    VECTOR_OF,
    Interval,
    Type,
    Value,
    interval_of,
)


class StopError(Exception):
    """stop() was called: what was set so far holds."""


class FunctionError(Exception):
    """Why a function or an operator has no result, such as too few samples; the service then changes nothing."""


def of_numbers(name: str, *values: float | tuple[float, ...]) -> Value:
    """A function of any numbers and lists of numbers, which are taken as one list."""
    if name in COMPONENT_WISE and len(values) == 1 and isinstance(values[0], float):
        return _component(name, values[0])
    numbers = tuple(number for value in values for number in (value if isinstance(value, tuple) else (value,)))
    if name not in OF_LISTS:
        return numbers if name == VECTOR_OF else tuple(_component(name, number) for number in numbers)
    if not numbers and name not in ("len", "sum", "norm"):
        raise FunctionError(f"{name}(…) has no value: the list is empty")
    if name == "std" and len(numbers) == 1:
        raise FunctionError("std(…) needs two values or more")
    result = OF_LISTS[name](numbers)
    if not math.isfinite(result):
        raise FunctionError(f"{name}(…) is too large")
    return result


def _component(name: str, number: float) -> float:
    if name in ("lg", "ln", "log") and number <= 0:
        raise FunctionError(f"{name}(…) has no value for {number:g}")
    return COMPONENT_WISE[name](number)


def _percentile(_: datetime, numbers: Sequence[float], percent: float) -> float:
    if not numbers:
        raise FunctionError("percentile(…) has no value: the list is empty")
    if not 0 <= percent <= 100:
        raise FunctionError(f"percentile(…) takes 0 to 100, and this is {percent:g}")
    ordered = sorted(numbers)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def _val(_: datetime, numbers: Sequence[float], index: float) -> float:
    if not 0 <= index < len(numbers):
        raise FunctionError(f"val(…) has no element {index:g}: the list has {len(numbers)}")
    return numbers[int(index)]


def _stop(_: datetime) -> Value:
    raise StopError


def _time(now: datetime, text: str = "") -> datetime:
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


def _deviation(numbers: Sequence[float]) -> float:
    """Of a sample: divided by one less than its size."""
    mean = math.fsum(numbers) / len(numbers)
    return math.sqrt(math.fsum((number - mean) * (number - mean) for number in numbers) / (len(numbers) - 1))


def _round(number: float) -> float:
    return math.copysign(math.floor(abs(number) + 0.5), number)


# Of one list a number.
OF_LISTS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "avg": lambda numbers: math.fsum(numbers) / len(numbers),
    "len": lambda numbers: float(len(numbers)),
    "max": max,
    "min": min,
    "norm": lambda numbers: math.hypot(*numbers),
    "range": lambda numbers: max(numbers) - min(numbers),
    "std": _deviation,
    "sum": math.fsum,
}
# Of one number a number, of a list a list.
COMPONENT_WISE: Mapping[str, Callable[[float], float]] = {
    "ceil": lambda number: float(math.ceil(number)),
    "floor": lambda number: float(math.floor(number)),
    "lg": math.log2,
    "ln": math.log,
    "log": math.log10,
    "round": _round,
}


class Function(NamedTuple):
    """A function with fixed parameters, the first `needed` of which must be given."""

    parameters: tuple[Type, ...]
    needed: int
    gives: Type
    call: Callable[..., Value]  # with the time, and the values


FIXED: Mapping[str, Function] = {
    "percentile": Function((Type.VECTOR, Type.DOUBLE), 2, Type.DOUBLE, _percentile),
    "val": Function((Type.VECTOR, Type.DOUBLE), 2, Type.DOUBLE, _val),
    "rand": Function((), 0, Type.DOUBLE, lambda _: random.random()),  # noqa: S311 (the formula's own, no secret)
    "time": Function((Type.STRING,), 0, Type.TIMESTAMP, _time),
    "stop": Function((), 0, Type.NOTHING, _stop),
}
OF_NUMBERS = (*OF_LISTS, *COMPONENT_WISE, VECTOR_OF)
FUNCTIONS = (*OF_NUMBERS, *FIXED)


def later(moment: datetime, length: Interval) -> datetime:
    try:
        return moment + timedelta(seconds=length.ticks / TICKS_PER_SECOND)
    except OverflowError:
        raise FunctionError("the time lies outside the years 1 to 9999") from None


def _arithmetic(left: float, sign: str, right: float) -> float:
    if sign == "/" and right == 0:
        raise FunctionError("this divides by 0")
    result = _SIGNS[sign](left, right)
    if not math.isfinite(result):
        raise FunctionError("a number is too large")
    return result


def _list(left: tuple[float, ...], sign: str, right: float | tuple[float, ...]) -> tuple[float, ...]:
    others = right if isinstance(right, tuple) else (right,) * len(left)
    if len(others) != len(left):
        raise FunctionError(f"the lists have {len(left)} and {len(others)} elements")
    return tuple(_arithmetic(one, sign, other) for one, other in zip(left, others, strict=True))


def _scaled(of: Interval, sign: str, number: float) -> Interval:
    return Interval(round(_arithmetic(float(of.ticks), sign, number)))


class Operator(NamedTuple):
    gives: Type
    apply: Callable[[Any, str, Any], Value]


_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv},
    **{"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">=": operator.ge, ">": operator.gt},
}
ARITHMETIC, LOGICAL = "+-*/", ("&&", "||")
_COMPARED = (Type.DOUBLE, Type.STRING, Type.TIMESTAMP, Type.INTERVAL)  # each with its own type; these give 1 or 0
# What each operator takes and gives. Of && and || the left side is known to leave it to the right one.
OPERATORS: Mapping[tuple[Type, str, Type], Operator] = {
    **{(Type.DOUBLE, sign, Type.DOUBLE): Operator(Type.DOUBLE, _arithmetic) for sign in ARITHMETIC},
    **{(Type.VECTOR, sign, Type.DOUBLE): Operator(Type.VECTOR, _list) for sign in ARITHMETIC},
    **{(Type.VECTOR, sign, Type.VECTOR): Operator(Type.VECTOR, _list) for sign in ARITHMETIC},
    (Type.DOUBLE, "*", Type.INTERVAL): Operator(Type.INTERVAL, lambda number, sign, of: _scaled(of, sign, number)),
    (Type.INTERVAL, "*", Type.DOUBLE): Operator(Type.INTERVAL, _scaled),
    (Type.INTERVAL, "/", Type.DOUBLE): Operator(Type.INTERVAL, _scaled),
    (Type.INTERVAL, "+", Type.INTERVAL): Operator(Type.INTERVAL, lambda one, _, other: Interval(one.ticks + other.ticks)),
    (Type.INTERVAL, "-", Type.INTERVAL): Operator(Type.INTERVAL, lambda one, _, other: Interval(one.ticks - other.ticks)),
    (Type.INTERVAL, "+", Type.TIMESTAMP): Operator(Type.TIMESTAMP, lambda length, _, moment: later(moment, length)),
    (Type.TIMESTAMP, "+", Type.INTERVAL): Operator(Type.TIMESTAMP, lambda moment, _, length: later(moment, length)),
    (Type.TIMESTAMP, "-", Type.TIMESTAMP): Operator(Type.INTERVAL, lambda one, _, other: interval_of(one - other)),
    **{
        (kind, sign, kind): Operator(Type.DOUBLE, lambda left, sign, right: float(_SIGNS[sign](left, right)))
        for kind in _COMPARED
        for sign in _SIGNS.keys() - set(ARITHMETIC)
    },
    **{(Type.DOUBLE, sign, Type.DOUBLE): Operator(Type.DOUBLE, lambda _, __, right: float(bool(right))) for sign in LOGICAL},
}
SIGNED: Mapping[tuple[str, Type], Callable[[Any], Value]] = {
    ("-", Type.DOUBLE): operator.neg,
    ("!", Type.DOUBLE): lambda number: float(not number),
    ("-", Type.INTERVAL): lambda length: Interval(-length.ticks),
}


Series = Sequence[tuple[datetime, float]]  # oldest first


class Samples(Protocol):
    """Where samples come from. A variable of which there are none has an empty series."""

    def series(self, variable: str) -> Series: ...


def _newest(series: Series, count: float) -> tuple[float, ...]:
    """The last `count` samples, or as many as there are."""
    whole = int(count) if math.isfinite(count) else 0
    return tuple(float(value) for _, value in series[-whole:]) if whole > 0 else ()


def _enough(series: Series, one: datetime, other: datetime, percent: float) -> tuple[float, ...]:
    """The samples between two times, whichever is the earlier. FunctionError where they are less than `percent` of all."""
    found = _between(series, one, other)
    share = _share(len(found), one, other)
    if share < percent:
        raise FunctionError(f"{share:.6g} percent of the samples are there, and {percent:.6g} are asked for")
    return found


def _between(series: Series, one: datetime, other: datetime) -> tuple[float, ...]:
    first, last = min(one, other), max(one, other)
    return tuple(float(value) for at, value in series if first < at <= last)


def _share(found: int, one: datetime, other: datetime) -> float:
    possible = math.ceil(abs(other - one) / timedelta(seconds=SAMPLE_SECONDS))
    return min(100.0, 100.0 * found / possible) if possible else 0.0


def _moment(value: Interval | datetime, now: datetime) -> datetime:
    """An interval ends now."""
    return later(now, Interval(-value.ticks)) if isinstance(value, Interval) else value


def _sample(series: Series, now: datetime, first: Any, *others: Any) -> Value:
    if isinstance(first, float):
        return _newest(series, first)
    until = next((_moment(one, now) for one in others[:1] if not isinstance(one, float)), now)
    return _enough(series, _moment(first, now), until, next((one for one in others if isinstance(one, float)), 0))


def _percent(series: Series, now: datetime, since: Any, until: Any = None) -> Value:
    """How many of the samples that there should be are there, in percent."""
    one, other = _moment(since, now), _moment(until, now) if until is not None else now
    return _share(len(_between(series, one, other)), one, other)


def _begin(series: Series, _: datetime) -> Value:
    if not series:
        raise FunctionError("there are no samples yet, so their history has no beginning")
    return series[0][0].astimezone(UTC)


class Method(NamedTuple):
    """A method of what the service measures. `takes`: its forms, each with the types of every argument."""

    takes: tuple[tuple[tuple[Type, ...], ...], ...]
    gives: Type
    call: Callable[..., Value]  # with the samples, the time, and the values


NUMBER, WHEN = (Type.DOUBLE,), (Type.TIMESTAMP, Type.INTERVAL)
METHODS: Mapping[str, Method] = {
    "GetSample": Method(((NUMBER,), (WHEN,), (WHEN, NUMBER), (WHEN, WHEN), (WHEN, WHEN, NUMBER)), Type.VECTOR, _sample),
    "GetSamplePercent": Method(((WHEN,), (WHEN, WHEN)), Type.DOUBLE, _percent),
    "GetSamplePeriod": Method(((),), Type.INTERVAL, lambda *_: Interval(SAMPLE_SECONDS * TICKS_PER_SECOND)),
    "Count": Method(((),), Type.DOUBLE, lambda series, _: float(len(series))),
    "HistoryBeginTime": Method(((),), Type.TIMESTAMP, _begin),
}


def match(given: Sequence[Type], takes: Sequence[tuple[Type, ...]]) -> bool:
    """Whether arguments of these types are of a method's form."""
    return len(given) == len(takes) and all(
        one is Type.UNKNOWN or one in allowed for one, allowed in zip(given, takes, strict=True)
    )
