"""A request's body, read within limits of length and time, and its answer: scores, errors with what is expected, timings."""

import logging
import socket
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

from image_scoring.options import Limits
from image_scoring.slow_clients import WATCH

JSON_HEADERS = {"Content-Type": "application/json"}
_PER_REQUEST = "run() output is HTTP Response"  # the server logs it if the script returns a response object


class RefusedError(Exception):
    """The client's mistake: answered with `status`, a message and what is expected."""

    def __init__(self, message: str, expected: str, status: int = 400) -> None:
        super().__init__(f"{message}; expected: {expected}")
        self.message = message
        self.expected = expected
        self.status = status


def read(request: Any, limits: Limits) -> bytes:
    environ = request.environ
    most = limits.body_bytes
    expected = f"a body of 1 to {most} bytes with its Content-Length"
    if "HTTP_TRANSFER_ENCODING" in environ:
        raise RefusedError("the body has no length: it comes in chunks", expected, 411)
    text = environ.get("CONTENT_LENGTH") or ""
    if not (text.isascii() and text.isdigit()):
        raise RefusedError("the request has no Content-Length", expected, 411)
    length = int(text)
    if length > most:
        raise RefusedError(f"the body is too large: {length} bytes", expected, 413)
    if length == 0:
        raise RefusedError("the body is empty", expected)
    body = _read(environ, length, limits.body_seconds)
    if len(body) < length:
        message = f"{len(body)} of {length} bytes arrived within {limits.body_seconds:g} s"
        raise RefusedError(message, "a body as long as its Content-Length, sent without pauses", 408)
    # Only now: a body that stays unread would cost the client its connection.
    if environ.get("HTTP_CONTENT_ENCODING", "identity").lower() not in ("", "identity"):
        raise RefusedError("the body is compressed", "a body without Content-Encoding", 415)
    return body


def _read(environ: dict[str, Any], length: int, seconds: float) -> bytes:
    """The bytes that arrive in time; fewer than `length` if the client stops or is too slow."""
    connection: socket.socket | None = environ.get("gunicorn.socket")  # another server has another name for it, or none
    if connection is None:
        return environ["wsgi.input"].read(length)
    WATCH.begin_body(connection, seconds)
    try:
        return environ["wsgi.input"].read(length)
    except OSError:
        return b""
    finally:
        WATCH.end(connection)


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
        return [each.decode("utf-8", "backslashreplace") if isinstance(each, bytes) else _plain(each) for each in rows]
    if rows.dtype.kind not in "biuf" or rows.dtype.itemsize == 16:
        rows = rows.astype(np.float32)  # bfloat16
    return np.ascontiguousarray(rows) if rows.ndim else rows.item()


def error(refusal: RefusedError) -> bytes:
    return orjson.dumps({"message": refusal.message, "expected": refusal.expected})


def log_one_line_per_request() -> None:
    """Reduces the inference server's log to `POST /score 200 2.113ms 104`."""
    logging.getLogger("azmlinfsrv").addFilter(lambda record: record.msg != _PER_REQUEST)
    logging.getLogger("gunicorn.access").setLevel(logging.WARNING)
