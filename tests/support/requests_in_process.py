"""Sessions of the library `requests` whose requests a function answers, in place of a server."""

import io
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import requests
import urllib3
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3.exceptions import ProtocolError


class _Adapter(BaseAdapter):
    def __init__(self, answer: Callable[[httpx.Request], httpx.Response]) -> None:
        super().__init__()
        self._answer = answer

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: bool | str = True,
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        assert request.method
        assert request.url
        content = request.body if isinstance(request.body, str | bytes) else None
        headers = {name: str(value) for name, value in request.headers.items()}
        sent = httpx.Request(request.method, request.url, headers=headers, content=content)
        try:
            answer = self._answer(sent)
        except httpx.RemoteProtocolError as error:
            raise requests.ConnectionError(ProtocolError("Connection aborted.", error), request=request) from error
        except httpx.ConnectError as error:
            raise requests.ConnectionError(error, request=request) from error
        received = urllib3.HTTPHeaderDict(answer.headers.multi_items())
        body = io.BytesIO(answer.read())
        raw = urllib3.HTTPResponse(body, received, answer.status_code, reason=answer.reason_phrase, preload_content=False)
        return HTTPAdapter().build_response(request, raw)

    def close(self) -> None:
        pass


def session(answer: Callable[[httpx.Request], httpx.Response]) -> requests.Session:
    """`answer`: httpx.ConnectError where nobody listens, httpx.RemoteProtocolError where the answer is lost."""
    made = requests.Session()
    for scheme in ("http://", "https://"):
        made.mount(scheme, _Adapter(answer))
    return made
