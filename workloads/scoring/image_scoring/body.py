"""Reads the body of a Flask request within limits of length and time.

`RefusedError` before reading if the length is missing or too large.
"""

import socket
from typing import Any

from image_scoring.limits import Limits
from image_scoring.refusal import RefusedError
from image_scoring.slow_clients import WATCH


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
