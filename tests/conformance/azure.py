"""An Azure that is asked: the subscription of `az login`, or an embedded Azure. Each request and its answer is kept.

In: method, path, version, body. Out: `Exchange`, after the end of a long operation. Throttled requests are sent again.
"""

import json
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

PUBLIC = "https://management.azure.com"
LIMIT_SECONDS = 1800  # for one long operation
_AGAIN = (429, 503)
_TRIES = 5


class NoLoginError(Exception):
    """No subscription is signed in to. The text is for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and its answer."""

    method: str
    path: str
    query: dict[str, str]
    request: Any
    status: int
    headers: dict[str, str]
    response: Any


@dataclass(slots=True)
class Azure:
    """Where requests go, and what was asked so far. `name` is how a report calls it, `sleep` waits by its time."""

    name: str
    client: httpx.Client
    subscription: str
    tenant: str = ""
    exchanges: list[Exchange] = field(default_factory=list[Exchange])
    sleep: Callable[[float], None] = time.sleep

    def send(self, method: str, path: str, version: str, body: Any = None) -> Exchange:
        """The answer; of a long operation that has none of its own, the one at its end."""
        url, query = path, {"api-version": version}
        answer = self._answer(method, url, params=query, json=body)
        until = time.monotonic() + LIMIT_SECONDS
        while method == "POST" and answer.status_code == 202 and time.monotonic() < until:
            self.sleep(_seconds(answer, 1))
            answer = self._answer("GET", answer.headers["Location"])
        kept = {name: answer.headers[name] for name in ("azure-asyncoperation", "location") if name in answer.headers}
        exchange = Exchange(
            method=method,
            path=path,
            query=query,
            request=body,
            status=answer.status_code,
            headers=kept,
            response=_json(answer),
        )
        self.exchanges.append(exchange)
        return exchange

    def _answer(self, method: str, url: str, **options: Any) -> httpx.Response:
        for attempt in range(1, _TRIES):
            answer = self.client.request(method, url, **options)
            if answer.status_code not in _AGAIN:
                return answer
            self.sleep(_seconds(answer, attempt))
        return self.client.request(method, url, **options)


def of_embedded(azure: EmbeddedAzure, name: str = "embedded Azure") -> Azure:
    return Azure(name, azure.client, SUBSCRIPTION, azure.tenant_id, sleep=azure.move)


def of_login() -> Azure:
    """The subscription that `az` is signed in to. NoLoginError."""
    from azure.identity import AzureCliCredential  # here: only a run against Azure needs it

    try:
        shown = subprocess.run(["az", "account", "show", "-o", "json"], capture_output=True, text=True, check=True)
    except OSError as error:
        raise NoLoginError("`az` isn't on PATH; install the Azure CLI, then run `az login`, or give EMBEDDED=1") from error
    except subprocess.CalledProcessError as error:
        raise NoLoginError("no subscription is signed in to: run `az login`, or give EMBEDDED=1") from error
    account: Mapping[str, str] = json.loads(shown.stdout)
    client = httpx.Client(base_url=PUBLIC, auth=_Login(AzureCliCredential()), timeout=120)
    return Azure("Azure", client, account["id"], account["tenantId"])


class _Login(httpx.Auth):
    def __init__(self, credential: Any) -> None:
        self._credential = credential

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {self._credential.get_token(f'{PUBLIC}/.default').token}"
        yield request


def _seconds(answer: httpx.Response, otherwise: float) -> float:
    given = answer.headers.get("retry-after", "")
    return float(given) if given.isdecimal() else otherwise


def _json(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        return None
