"""Servers in the test's own process: what `requests` sends is answered by a function, without a port."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
import urllib3
from requests.adapters import HTTPAdapter


class Answer(NamedTuple):
    """Of one request. The body comes in pieces, which may be made when they are read."""

    status: int
    headers: Mapping[str, str] = {}
    body: Iterable[bytes] = ()


# Gets the request and its session's connections. What it raises is what the client meets.
Handler = Callable[[requests.PreparedRequest, HTTPAdapter], Answer]


class _Raw:
    """A response as `requests` reads it, piece by piece."""

    chunked = True
    reason = ""

    def __init__(self, answer: Answer) -> None:
        self.status = answer.status
        self.headers = urllib3.HTTPHeaderDict(answer.headers)
        self._pieces = iter(answer.body)

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield from self._pieces

    def read1(self, _: int) -> bytes:
        return next(self._pieces, b"")

    def close(self) -> None:
        pass

    release_conn = close


@contextmanager
def answered(handler: Handler) -> Iterator[None]:
    """One request is answered at a time; their bodies are read beside each other."""
    one_at_a_time = threading.Lock()

    def send(adapter: HTTPAdapter, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        with one_at_a_time:
            answer = handler(request, adapter)
        raw: Any = _Raw(answer)
        return adapter.build_response(request, raw)

    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(HTTPAdapter, "send", send)
        yield


def address(request: requests.PreparedRequest) -> tuple[str, dict[str, str]]:
    """Path and query of a request."""
    parts = urlsplit(str(request.url))
    return parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()}


def unreachable(request: requests.PreparedRequest, _: HTTPAdapter) -> Answer:
    """Nobody listens."""
    raise requests.ConnectionError("connection refused", request=request)
