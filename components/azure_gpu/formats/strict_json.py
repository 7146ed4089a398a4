"""Reads JSON as its standard defines it. ValueError is raised for what Python's own reader accepts beside it: NaN, Infinity,
numbers that become infinite, and halves of characters."""

import json
import math
from typing import Any, NoReturn


def loads(content: bytes) -> Any:
    """The value. ValueError (of which `json.JSONDecodeError` is one) or RecursionError where there is none."""
    value = json.loads(content, parse_constant=_no_constant, parse_float=_finite)
    if b"\\u" in content:
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair isn't text: it can't be stored or sent
    return value


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
