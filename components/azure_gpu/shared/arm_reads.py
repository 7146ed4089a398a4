"""Requests to Azure Resource Manager for which azure-native has no function: lists, API versions other than its own, PATCH, and
actions.

The token is the provider's, and is sent only to the Resource Manager in the provider's configuration.
"""

import asyncio
import functools
import json
import os
import ssl
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, TypeVar, cast
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit

import pulumi
from pulumi.runtime.config import CONFIG, get_config_env
from pulumi_azure_native import authorization

from azure_gpu.shared import existing
from azure_gpu.shared.provider_keys import PROVIDER, PROVIDER_VARIABLES

PUBLIC = "https://management.azure.com"
_HOST, _CLOUD = f"{PROVIDER}:metadataHost", f"{PROVIDER}:environment"
_METADATA_VERSION = "2022-09-01"
_SECONDS = 30.0
_TOKEN_SECONDS = 240.0  # a token of the Azure CLI is valid for five minutes at least
_PAUSES_SECONDS = (1.0, 2.0, 5.0)  # before each retry where Azure throttles


T = TypeVar("T")
_Send = Callable[[urllib.request.Request, float], bytes]


class UnreadableError(Exception):
    """The resource can't be read, or Azure refused. The text is for the user. `status`: of the answer; 0 without one."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


def get(path: str, api_version: str, opts: pulumi.InvokeOptions, query: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Returns the response to a GET of an ARM path, with the login of the provider in `opts`."""
    try:
        return Requests(lambda: authorization.get_client_token(opts=opts).token).answer("GET", path, api_version, query=query)
    except UnreadableError:
        raise
    except Exception as error:  # noqa: BLE001  of the SDK's call and JSON; callers go on without the answer
        raise UnreadableError(existing.reason_of(error)) from None


async def patch(path: str, api_version: str, body: Mapping[str, Any], opts: pulumi.InvokeOptions) -> None:
    """Changes what `body` names of a resource, with the login of the provider in `opts`; for hooks. UnreadableError: refused."""
    await with_login(opts, lambda requests: requests.answer("PATCH", path, api_version, json.dumps(body).encode()))


class Requests:
    """Sends requests with tokens of `new_token`: those of a hook from a thread. UnreadableError."""

    errors = (UnreadableError,)

    def __init__(self, new_token: Callable[[], str]) -> None:
        self._new_token = new_token
        self._renew_at = 0.0
        self._token = ""

    def get(self, resource_id: str, api_version: str) -> dict[str, Any] | None:
        """None where there is nothing."""
        try:
            return self.answer("GET", resource_id, api_version)
        except UnreadableError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    def post(self, path: str, api_version: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """An action; {} for an empty answer."""
        return self.answer("POST", path, api_version, b"" if body is None else json.dumps(body).encode())

    def values(self, path: str, api_version: str) -> Iterator[dict[str, Any]]:
        """All pages of a list."""
        url = self._url(path, api_version)
        while url:
            page = self._answer("GET", url, None)
            yield from page.get("value") or []
            url = str(page.get("nextLink") or "")

    def upload(self, url: str, content: bytes, seconds: float) -> None:
        """Puts a block blob to a URL with a signature."""
        headers = {"x-ms-blob-type": "BlockBlob", "Content-Type": "application/octet-stream"}
        _sent(urllib.request.Request(url, content, headers, method="PUT"), seconds)  # noqa: S310  of Azure's answer

    def text(self, url: str) -> str:
        """What a URL with a signature has."""
        return _sent(urllib.request.Request(url)).decode(errors="replace")  # noqa: S310  as above

    def answer(
        self, method: str, path: str, api_version: str, body: bytes | None = None, query: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """{} for an empty answer."""
        return self._answer(method, self._url(path, api_version, query), body)

    def _url(self, path: str, api_version: str, query: Mapping[str, str] | None = None) -> str:
        return f"{self._base}{quote(path)}?{urlencode({**(query or {}), 'api-version': api_version}, quote_via=quote)}"

    @functools.cached_property
    def _base(self) -> str:
        return _endpoint()

    def _answer(self, method: str, url: str, body: bytes | None) -> dict[str, Any]:
        if time.monotonic() >= self._renew_at:
            self._token, self._renew_at = self._new_token(), time.monotonic() + _TOKEN_SECONDS
        if not self._token:  # such as under mocks
            raise UnreadableError("not logged in")
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json", "Accept": "application/json"}
        request = urllib.request.Request(url, body, headers, method=method)  # noqa: S310  always https
        answer = _sent(request, by=_sent_again)
        return cast(dict[str, Any], json.loads(answer)) if answer else {}


async def with_login(opts: pulumi.InvokeOptions, work: Callable[[Requests], T]) -> T:
    """Runs `work` in a thread, with the login of the provider in `opts`; for hooks."""
    loop = asyncio.get_running_loop()

    async def token() -> str:
        try:
            found = await authorization.get_client_token_output(opts=opts).future()
        except Exception as error:  # noqa: BLE001  the SDK raises nothing narrower for a failed call
            raise UnreadableError(existing.reason_of(error)) from None
        return found.token if found is not None else ""

    return await asyncio.to_thread(work, Requests(lambda: asyncio.run_coroutine_threadsafe(token(), loop).result()))


def _sent(request: urllib.request.Request, seconds: float = _SECONDS, by: _Send | None = None) -> bytes:
    """What is answered; `by` None: at the first attempt. An error doesn't show the URL, which may have a signature."""
    try:
        return (by or _sent_once)(request, seconds)
    except HTTPError as error:
        raise UnreadableError(_reason(error), error.code) from None
    except OSError as error:
        raise UnreadableError(f"{urlsplit(request.full_url).hostname} can't be reached: {existing.reason_of(error)}") from None


def _reason(error: HTTPError) -> str:
    """ARM's code and message."""
    text = error.read().decode(errors="replace")
    try:
        told = json.loads(text)["error"]
        return f"{told['code']}: {told['message']}"
    except (ValueError, KeyError, TypeError):
        return f"Azure returned {error.code}"


def _endpoint() -> str:
    """Returns the Resource Manager endpoint of the provider's cloud."""
    configured = {**get_config_env(), **CONFIG.get()}
    host = configured.get(_HOST) or os.environ.get(PROVIDER_VARIABLES[_HOST], "")
    if host:
        request = urllib.request.Request(f"https://{host}/metadata/endpoints?api-version={_METADATA_VERSION}")
        return str(json.loads(_sent(request, by=_sent_again))["resourceManager"]).rstrip("/")
    cloud = configured.get(_CLOUD) or os.environ.get(PROVIDER_VARIABLES[_CLOUD], "")
    if cloud.lower() not in ("", "public", "azurecloud"):
        raise UnreadableError(f"the Resource Manager endpoint of the cloud {cloud} isn't known")
    return PUBLIC


def _sent_again(request: urllib.request.Request, seconds: float) -> bytes:
    """What is answered, tried again where Azure throttles. HTTPError and OSError."""
    for pause in _PAUSES_SECONDS:
        try:
            return _sent_once(request, seconds)
        except HTTPError as error:
            if error.code != HTTPStatus.TOO_MANY_REQUESTS:
                raise
        time.sleep(pause)
    return _sent_once(request, seconds)


def _sent_once(request: urllib.request.Request, seconds: float) -> bytes:
    with _opener().open(request, timeout=seconds) as answer:
        return cast(bytes, answer.read())


@functools.cache  # reading the certificates of the authorities takes 50 ms of CPU
def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_NoRedirect, urllib.request.HTTPSHandler(context=ssl.create_default_context()))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, so that the token reaches no other host."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None
