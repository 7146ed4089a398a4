"""Azure's Python clients on an embedded Azure of a test, without a network: what they send goes to its `http()`.

They all send by `requests`. Whatever isn't the embedded Azure can't be reached.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import requests
import urllib3
from requests.adapters import HTTPAdapter

from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

_OF_THE_CONTENT = ("content-encoding", "content-length", "transfer-encoding")  # httpx has decoded it


def host_of(azure: EmbeddedAzure) -> str:
    """Host and port, as `ARM_METADATA_HOSTNAME` has them."""
    return urlsplit(azure.url).netloc


def environment(azure: EmbeddedAzure) -> dict[str, str]:
    """The variables that name the embedded Azure as the provider reads them."""
    return {
        "ARM_SUBSCRIPTION_ID": SUBSCRIPTION,
        "ARM_TENANT_ID": azure.tenant_id,
        "ARM_CLIENT_ID": azure.client_id,
        "ARM_CLIENT_SECRET": azure.client_secret,
        "ARM_METADATA_HOSTNAME": host_of(azure),
        "ARM_DISABLE_INSTANCE_DISCOVERY": "true",
    }


@contextmanager
def connected(azure: EmbeddedAzure, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Time that a client waits for is the embedded Azure's, where that has a time of its own.

    `monkeypatch`: the test's own, which may change the same variables.
    """
    with azure.http() as client:
        monkeypatch.setattr(HTTPAdapter, "send", _sender(client, host_of(azure)))
        monkeypatch.setattr(time, "sleep", getattr(azure, "move", time.sleep))
        for name, value in environment(azure).items():
            monkeypatch.setenv(name, value)
        yield


def _sender(client: httpx.Client, host: str) -> Callable[..., requests.Response]:
    one_at_a_time = threading.Lock()

    def send(adapter: HTTPAdapter, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        address = urlsplit(request.url or "")
        if address.netloc != host:
            raise requests.ConnectionError(f"{address.netloc} can't be reached", request=request)
        body: Any = request.body
        headers: Any = dict(request.headers)
        content = body.read() if hasattr(body, "read") else body
        try:
            with one_at_a_time:
                answer = client.request(str(request.method), str(request.url), headers=headers, content=content)
        except httpx.TransportError as error:
            raise requests.ConnectionError(str(error), request=request) from error
        kept = [pair for pair in answer.headers.multi_items() if pair[0].lower() not in _OF_THE_CONTENT]
        raw = urllib3.HTTPResponse(
            BytesIO(answer.content), urllib3.HTTPHeaderDict(kept), answer.status_code, preload_content=False
        )
        return adapter.build_response(request, raw)

    return send
