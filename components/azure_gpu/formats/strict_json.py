"""Reads JSON as its standard defines it. ValueError is raised for what Python's own reader accepts beside it: NaN, Infinity,
numbers that become infinite, and halves of characters. It is also raised for values that nobody can go through step by step."""

import json
import math
from typing import Any, NoReturn

MOST_LEVELS = 200  # each takes several of the 1,000 calls that Python nests


def loads(content: bytes) -> Any:
    """The value. ValueError (of which `json.JSONDecodeError` is one) or RecursionError where there is none."""
    value = json.loads(content, parse_constant=_no_constant, parse_float=_finite)
    if b"\\u" in content:
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair isn't text: it can't be stored or sent
    if content.count(b"{") + content.count(b"[") > MOST_LEVELS:
        _check_levels(value)
    return value


def _check_levels(value: Any) -> None:
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        level = [
            one for each in level if isinstance(each, dict | list) for one in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    raise ValueError(f"it has more than {MOST_LEVELS} levels")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
