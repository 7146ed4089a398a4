"""How Azure's own SDKs reach an embedded Azure inside the test's own process: their own pipeline, on another transport."""

import io
from collections.abc import Callable
from typing import Any

import httpx
import requests
from azure.core.pipeline.transport import RequestsTransport
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict
from urllib3 import HTTPResponse


class _Adapter(BaseAdapter):
    def __init__(self, client: httpx.Client) -> None:
        super().__init__()
        self._client = client

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        assert request.method
        assert request.url
        body: Any = request.body
        headers: Any = dict(request.headers)
        try:
            answer = self._client.request(request.method, request.url, content=body, headers=headers)
        except httpx.RemoteProtocolError as error:
            raise requests.ConnectionError(str(error), request=request) from error
        # `raw` is what azure-core reads the body from.
        found = requests.Response()
        found.status_code, found.reason, found.url = answer.status_code, answer.reason_phrase, request.url
        found.headers, found.request = CaseInsensitiveDict(answer.headers), request
        found.raw = HTTPResponse(io.BytesIO(answer.content), dict(answer.headers), answer.status_code, preload_content=False)
        return found

    def close(self) -> None:
        """Nothing is held."""


class InProcessTransport(RequestsTransport):
    """azure-core's transport; the server's time passes where a client waits."""

    def __init__(self, client: httpx.Client, sleep: Callable[[float], None]) -> None:
        session = requests.Session()
        session.trust_env = False
        session.mount("https://", _Adapter(client))
        super().__init__(session=session, session_owner=False)
        self._wait = sleep

    def sleep(self, duration: float) -> None:
        self._wait(duration)
