"""Response bodies and headers: scores, errors with the expected input, and timings."""

import time
from collections.abc import Mapping

import numpy as np
import orjson

from image_scoring.refusal import RefusedError

JSON_HEADERS = {"Content-Type": "application/json"}


class Times:
    """Durations of the parts of a request, each measured from the end of the previous one."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._parts: list[tuple[str, float]] = []

    def ended(self, part: str) -> None:
        now = time.perf_counter()
        self._parts.append((part, (now - self._last) * 1000))
        self._last = now

    def header(self) -> str:
        """`Server-Timing`, in milliseconds. `total` excludes `receive`, the time of client and network."""
        total = sum(spent for part, spent in self._parts if part != "receive")
        return ", ".join(f"{part};dur={spent:.3f}" for part, spent in (*self._parts, ("total", total)))


def scores(outputs: Mapping[str, np.ndarray], name: str) -> bytes:
    """JSON with the rows of the output `name`, and of the other outputs. NaN and infinity become null."""
    answer = {"scores": _plain(outputs[name]), "output": name}
    if len(outputs) > 1:
        answer["others"] = {other: _plain(rows) for other, rows in outputs.items() if other != name}
    return orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)


def _plain(rows: np.ndarray) -> object:
    """Converted to what orjson can write: numbers of C types."""
    if rows.dtype.kind == "O":  # TensorFlow's strings
        return [_text(each) if isinstance(each, bytes) else _plain(each) for each in rows]
    if rows.dtype.kind not in "biuf" or rows.dtype.itemsize == 16:
        rows = rows.astype(np.float32)  # bfloat16
    return np.ascontiguousarray(rows) if rows.ndim else rows.item()


def _text(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")


def error(refusal: RefusedError) -> bytes:
    return orjson.dumps({"message": refusal.message, "expected": refusal.expected})
