"""The operators of formulas.

The types of the operands were checked as far as that is possible without samples; OperatorError is raised for the others."""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta

from azure_gpu.formats.autoscale_formula.language import COMPARISONS, TICKS_PER_SECOND
from azure_gpu.formats.autoscale_formula.values import Interval, Value, interval_of, type_of


class OperatorError(Exception):
    """Why an operation has no result."""


def apply(left: Value, sign: str, right: Value) -> Value:
    """`left sign right`, for every operator but && and ||."""
    if sign in COMPARISONS:
        return _compared(left, sign, right)
    match left, right:
        case float(), float():
            return _arithmetic(left, sign, right)
        case (Interval() as one, Interval() as other) if sign in "+-":
            return Interval(one.ticks + other.ticks if sign == "+" else one.ticks - other.ticks)
        case (Interval() as one, float()) if sign in "*/":
            return Interval(round(_arithmetic(float(one.ticks), sign, right)))
        case (float(), Interval() as other) if sign == "*":
            return Interval(round(_arithmetic(left, sign, float(other.ticks))))
        case (Interval() as length, datetime() as moment) | (datetime() as moment, Interval() as length) if sign == "+":
            return later(moment, length)
        case (datetime() as one, datetime() as other) if sign == "-":
            return interval_of(one - other)
        case tuple(), float() | tuple():
            return _list(left, sign, right)
        case _:
            raise OperatorError(f"{type_of(left)} {sign} {type_of(right)} isn't an operation of a formula")


def negative(sign: str, value: Value) -> Value:
    """`-value` or `!value`."""
    if isinstance(value, float):
        return -value if sign == "-" else float(not value)
    if sign == "-" and isinstance(value, Interval):
        return Interval(-value.ticks)
    raise OperatorError(f"{sign} takes no {type_of(value)}")


def true(value: Value) -> bool:
    """Whether a condition holds: a number that isn't 0."""
    if not isinstance(value, float):
        raise OperatorError(f"a condition is a number, and this is a {type_of(value)}")
    return bool(value)


def later(moment: datetime, length: Interval) -> datetime:
    try:
        return moment + timedelta(seconds=length.ticks / TICKS_PER_SECOND)
    except OverflowError:
        raise OperatorError("the time lies outside the years 1 to 9999") from None


def _arithmetic(left: float, sign: str, right: float) -> float:
    if sign == "/" and right == 0:
        raise OperatorError("this divides by 0")
    match sign:
        case "+":
            result = left + right
        case "-":
            result = left - right
        case "*":
            result = left * right
        case _:
            result = left / right
    if not math.isfinite(result):
        raise OperatorError("a number is too large")
    return result


def _list(left: tuple[float, ...], sign: str, right: float | tuple[float, ...]) -> tuple[float, ...]:
    others = right if isinstance(right, tuple) else (right,) * len(left)
    if len(others) != len(left):
        raise OperatorError(f"the lists have {len(left)} and {len(others)} elements")
    return tuple(_arithmetic(one, sign, other) for one, other in zip(left, others, strict=True))


def _compared(left: Value, sign: str, right: Value) -> float:
    return float(_order(left, sign, right) in _HOLDS[sign])


def _order(left: Value, sign: str, right: Value) -> int:
    """-1 where the left value is less, 0 where both are the same, 1 where it is greater."""
    match left, right:
        case float(), float():
            return (left > right) - (left < right)
        case str(), str():
            return (left > right) - (left < right)
        case datetime(), datetime():
            return (left > right) - (left < right)
        case Interval(), Interval():
            return (left > right) - (left < right)
        case _:
            raise OperatorError(f"{type_of(left)} {sign} {type_of(right)} isn't an operation of a formula")


# For which orders each comparison holds.
_HOLDS: Mapping[str, tuple[int, ...]] = {"<": (-1,), "<=": (-1, 0), "==": (0,), ">=": (0, 1), ">": (1,), "!=": (-1, 1)}
