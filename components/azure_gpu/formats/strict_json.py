"""JSON as its standard has it, and no more: Python's own reader also takes NaN, Infinity, numbers that become
infinite, and halves of characters.

In: the bytes of a request. Out: its value, or ValueError.
"""

import json
import math
from typing import Any, NoReturn


def loads(content: bytes) -> Any:
    """The value. ValueError (of which `json.JSONDecodeError` is one) or RecursionError where there is none."""
    value = json.loads(content, parse_constant=_no_constant, parse_float=_finite)
    if b"\\u" in content:
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text: it can't be stored or answered
    return value


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
