"""Functions of numbers, truths, lists and objects: add, equals, length, union, … Source: Microsoft Learn,
azure-resource-manager/templates/template-functions-array, -object, -logical, -numeric and -comparison.
"""

import json
import math
from collections.abc import Callable

from azure_gpu.formats.arm_template.values import MANY, Arguments, Function, Value, found, is_int, is_list, is_object, same, whole

MAX_RANGE = 10_000  # Microsoft Learn, template-functions-array#range


# Numbers


def _arithmetic(name: str, work: Callable[[int, int], int]) -> Function:
    def call(given: Arguments) -> int:
        one, other = given.number(0), given.number(1)
        if name in ("div", "mod") and other == 0:
            raise given.refused("the divisor is 0")
        return whole(name, work(one, other))

    return Function(name, call, 2, 2)


def _divided(one: int, other: int) -> int:
    """Rounded towards 0."""
    size = abs(one) // abs(other)
    return size if (one < 0) == (other < 0) else -size


def _extreme(name: str, choose: Callable[[list[int]], int]) -> Function:
    def call(given: Arguments) -> int:
        numbers = given if len(given) > 1 or is_int(given[0]) else Arguments(name, given.elements(0))
        if not len(numbers):
            raise given.refused("the list is empty")
        return choose([numbers.number(index) for index in range(len(numbers))])

    return Function(name, call, 1, MANY)


def _int(given: Arguments) -> int:
    value = given[0]
    if isinstance(value, str) and len(value) < 25:
        try:
            return whole("int", int(value.strip()))
        except ValueError as error:
            raise given.refused("the text isn't an integer") from error
    if isinstance(value, float) and math.isfinite(value):
        return whole("int", int(value))
    return given.number(0)


def _float(given: Arguments) -> float:
    try:
        value = float(given[0] if isinstance(given[0], str) else given.number(0))
    except ValueError as error:
        raise given.refused("the text isn't a number") from error
    if not math.isfinite(value):
        raise given.refused("the text isn't a number")
    return value


def _range(given: Arguments) -> list[int]:
    start, count = given.number(0), given.number(1)
    if not 0 <= count <= MAX_RANGE:
        raise given.refused(f"the count is not 0 to {MAX_RANGE}")
    return [whole("range", start + each) for each in range(count)]


# Truths


def _bool(given: Arguments) -> bool:
    value = given[0]
    if isinstance(value, str) and value.lower() in ("true", "false", "1", "0"):
        return value.lower() in ("true", "1")
    if is_int(value) and value in (0, 1):
        return bool(value)
    return given.truth(0)


def _compared(name: str, holds: Callable[[Value, Value], bool]) -> Function:
    def call(given: Arguments) -> bool:
        if isinstance(given[0], str):
            return holds(_in_order(given.text(0)), _in_order(given.text(1)))
        return holds(given.number(0), given.number(1))

    return Function(name, call, 2, 2)


def _in_order(text: str) -> tuple[str, str]:
    """What texts are ordered by: letters first, and of two that differ only in letter case the lower one, as .NET does."""
    return text.lower(), text.swapcase()


# Lists and objects


def _length(given: Arguments) -> int:
    value = given[0]
    if isinstance(value, str) or is_list(value) or is_object(value):
        return len(value)
    raise given.wrong(0, "a text, a list or an object")


def _empty(given: Arguments) -> bool:
    return given[0] is None or _length(given) == 0


def _contains(given: Arguments) -> bool:
    held, wanted = given
    if isinstance(held, str):
        return given.text(1) in held if isinstance(wanted, str) else str(given.number(1)) in held
    if is_object(held):
        return found(held, given.text(1)) is not None
    return any(same(each, wanted) for each in given.elements(0))


def _end(given: Arguments, index: int) -> Value:
    value = given[0]
    if isinstance(value, str):
        return value[index : (index + 1) or None]
    values = given.elements(0)
    return values[index] if values else None


def _part(given: Arguments, part: Callable[[int], slice]) -> Value:
    """A part of a text or a list, by a count."""
    value, count = given[0], max(given.number(1), 0)
    return (value if isinstance(value, str) else given.elements(0))[part(count)]


def _union(given: Arguments) -> Value:
    if is_object(given[0]):
        result: dict[str, Value] = {}
        for index in range(len(given)):
            result = _merged(result, given.members(index))
        return result
    return _distinct([each for index in range(len(given)) for each in given.elements(index)])


def _merged(under: dict[str, Value], over: dict[str, Value]) -> dict[str, Value]:
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        result[key] = _merged(below, value) if is_object(below) and is_object(value) else value
    return result


def _distinct(values: list[Value]) -> list[Value]:
    return list({_identity(value): value for value in reversed(values)}.values())[::-1]


def _identity(value: Value) -> str:
    """The same for values that are the same: 1 is not true, and not "1"."""
    return json.dumps(value, sort_keys=True)


def _intersection(given: Arguments) -> Value:
    if is_object(given[0]):
        others = [given.members(index) for index in range(1, len(given))]
        return {
            key: value
            for key, value in given.members(0).items()
            if all(key in other and same(other[key], value) for other in others)
        }
    lists = [{_identity(each) for each in given.elements(index)} for index in range(1, len(given))]
    return [value for value in _distinct(given.elements(0)) if all(_identity(value) in each for each in lists)]


def _create_object(given: Arguments) -> dict[str, Value]:
    if len(given) % 2:
        raise given.refused("a key has no value", "give keys and values alternately")
    return {given.text(index): given[index + 1] for index in range(0, len(given), 2)}


def _items(given: Arguments) -> list[Value]:
    members = given.members(0)
    return [{"key": key, "value": members[key]} for key in sorted(members, key=str.lower)]


def _coalesce(given: Arguments) -> Value:
    return next((value for value in given if value is not None), None)


FUNCTIONS: tuple[Function, ...] = (
    _arithmetic("add", lambda one, other: one + other),
    _arithmetic("sub", lambda one, other: one - other),
    _arithmetic("mul", lambda one, other: one * other),
    _arithmetic("div", _divided),
    _arithmetic("mod", lambda one, other: one - other * _divided(one, other)),
    _extreme("min", min),
    _extreme("max", max),
    Function("int", _int, 1, 1),
    Function("float", _float, 1, 1),
    Function("range", _range, 2, 2),
    Function("bool", _bool, 1, 1),
    Function("true", lambda _: True, 0, 0),
    Function("false", lambda _: False, 0, 0),
    Function("null", lambda _: None, 0, 0),
    Function("and", lambda given: all([given.truth(index) for index in range(len(given))]), 1, MANY),
    Function("or", lambda given: any([given.truth(index) for index in range(len(given))]), 1, MANY),
    Function("not", lambda given: not given.truth(0), 1, 1),
    Function("equals", lambda given: same(given[0], given[1]), 2, 2),
    _compared("less", lambda one, other: one < other),
    _compared("lessOrEquals", lambda one, other: one <= other),
    _compared("greater", lambda one, other: one > other),
    _compared("greaterOrEquals", lambda one, other: one >= other),
    Function("coalesce", _coalesce, 1, MANY),
    Function("array", lambda given: given[0] if is_list(given[0]) else [given[0]], 1, 1),
    Function("createArray", lambda given: list(given), 0, MANY),
    Function("createObject", _create_object, 0, MANY),
    Function("contains", _contains, 2, 2),
    Function("empty", _empty, 1, 1),
    Function("first", lambda given: _end(given, 0), 1, 1),
    Function("last", lambda given: _end(given, -1), 1, 1),
    Function("length", _length, 1, 1),
    Function("skip", lambda given: _part(given, lambda count: slice(count, None)), 2, 2),
    Function("take", lambda given: _part(given, slice), 2, 2),
    Function("union", _union, 1, MANY),
    Function("intersection", _intersection, 2, MANY),
    Function("items", _items, 1, 1),
)
