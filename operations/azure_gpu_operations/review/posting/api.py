"""A client of a hosting service's REST API with JSON, pages and bounded downloads. A failure is a `HostError` of one line."""

import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPException, HTTPResponse
from typing import Any, NamedTuple

LIMIT_SECONDS = 60.0
PAUSES_SECONDS = (1.0, 4.0)  # before a GET is sent again
MOST_BYTES = 16 * 1024 * 1024  # of an answer
_MOST_SHOWN = 300  # characters of a refusal
_AGAIN = (429, 500, 502, 503, 504)
_NEXT = re.compile(r'<([^>]+)>;\s*rel="next"')


class HostError(Exception):
    """The hosting service refused a request, or didn't answer. The text is one line."""


class _Answer(NamedTuple):
    body: bytes
    headers: Mapping[str, str]


class Api:
    """`signed_in`: headers that are sent to this API and never to where it redirects."""

    def __init__(
        self,
        url: str,
        signed_in: Mapping[str, str],
        headers: Mapping[str, str] | None = None,
        pauses: tuple[float, ...] = PAUSES_SECONDS,
    ) -> None:
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise HostError(f"{url!r} isn't a valid API address; the runner sets it")
        self._url = url.rstrip("/")
        self._signed_in = signed_in
        self._headers = headers or {}
        self._pauses = pauses

    def get(self, path: str, **query: str | int) -> Any:
        return _json(self._send("GET", self._address(path, query)).body)

    def pages(self, path: str, key: str = "", **query: str | int) -> Iterator[Any]:
        """All items of a list. `key`: the field of a page that has them; "": the page is a list."""
        address: str | None = self._address(path, {"per_page": 100, **query})
        while address:
            answer = self._send("GET", address)
            page = _json(answer.body)
            yield from page[key] if key else page
            address = self._next(answer.headers.get("Link", ""))

    def send(self, method: str, path: str, body: Mapping[str, Any], **query: str | int) -> Any:
        """It isn't retried: a failed request may have succeeded."""
        return _json(self._send(method, self._address(path, query), json.dumps(body).encode()).body)

    def download(self, path: str, most: int = MOST_BYTES) -> bytes:
        """HostError where there are more than `most` bytes."""
        return self._send("GET", self._address(path, {}), most=most).body

    def _address(self, path: str, query: Mapping[str, str | int]) -> str:
        return f"{self._url}{path}{'?' if query else ''}{urllib.parse.urlencode(query)}"

    def _next(self, link: str) -> str | None:
        found = _NEXT.search(link)
        if found is None:
            return None
        if urllib.parse.urlsplit(found[1]).netloc != urllib.parse.urlsplit(self._url).netloc:
            raise HostError(f"a list goes on at {found[1]}, which isn't {self._url}")
        return found[1]

    def _send(self, method: str, address: str, body: bytes | None = None, most: int = MOST_BYTES) -> _Answer:
        request = urllib.request.Request(address, body, {"Accept": "application/json", **self._headers}, method=method)  # noqa: S310 - checked above
        if body is not None:
            request.add_header("Content-Type", "application/json")
        for name, value in self._signed_in.items():
            request.add_unredirected_header(name, value)
        where = f"{method} {urllib.parse.urlsplit(address).path}"
        for pause in (*self._pauses, None) if method == "GET" else (None,):
            try:
                return _opened(request, where, most)
            except urllib.error.HTTPError as error:
                if pause is None or error.code not in _AGAIN:
                    raise HostError(f"{where} answers {error.code}: {_reason(error)}") from None
            except (OSError, HTTPException) as error:
                if pause is None:
                    raise HostError(f"{where} fails: {str(error) or type(error).__name__}") from None
            time.sleep(pause)
        raise AssertionError  # the last round returns or raises


def _opened(request: urllib.request.Request, where: str, most: int) -> _Answer:
    response: HTTPResponse
    with urllib.request.urlopen(request, timeout=LIMIT_SECONDS) as response:  # noqa: S310 - checked when the client was made
        body = response.read(most + 1)
        if len(body) > most:
            raise HostError(f"{where} answers more than {most:,} bytes")
        return _Answer(body, dict(response.headers))


def _json(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        raise HostError("an answer isn't JSON") from None


def _reason(error: urllib.error.HTTPError) -> str:
    text = error.read(10_000).decode("utf-8", "replace")
    try:
        answer = json.loads(text)
        text = str(answer.get("message") or answer.get("error") or text)
    except (ValueError, AttributeError):
        pass
    return " ".join(text.split())[:_MOST_SHOWN] or error.reason
