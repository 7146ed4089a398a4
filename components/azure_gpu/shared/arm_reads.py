"""GET requests to Azure Resource Manager for which azure-native has no function: lists, and API versions other than its own.

The token is the provider's, and is sent only to the Resource Manager in the provider's configuration.
"""

import json
import os
import time
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast
from urllib.error import HTTPError
from urllib.parse import quote, urlencode

import pulumi
from pulumi.runtime.config import CONFIG, get_config_env
from pulumi_azure_native import authorization

from azure_gpu.shared import existing
from azure_gpu.shared.provider_keys import PROVIDER, PROVIDER_VARIABLES

PUBLIC = "https://management.azure.com"
_HOST, _CLOUD = f"{PROVIDER}:metadataHost", f"{PROVIDER}:environment"
_METADATA_VERSION = "2022-09-01"
_SECONDS = 30.0
_PAUSES_SECONDS = (1.0, 2.0, 5.0)  # before each retry where Azure throttles


class UnreadableError(Exception):
    """The resource can't be read. The text is for the user."""


def get(path: str, api_version: str, opts: pulumi.InvokeOptions, query: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Returns the response to a GET of an ARM path, with the login of the provider in `opts`."""
    query_text = urlencode({**(query or {}), "api-version": api_version}, quote_via=quote)
    try:
        token = authorization.get_client_token(opts=opts).token
        if not token:  # such as under mocks
            raise UnreadableError("not logged in")
        return _json(f"{_endpoint()}{quote(path)}?{query_text}", {"Authorization": f"Bearer {token}"})
    except UnreadableError:
        raise
    except HTTPError as error:
        raise UnreadableError(f"Azure returned {error.code}") from None
    except Exception as error:  # noqa: BLE001  of the SDK's call, the network and JSON; callers go on without the answer
        raise UnreadableError(existing.reason_of(error)) from None


def _endpoint() -> str:
    """Returns the Resource Manager endpoint of the provider's cloud."""
    configured = {**get_config_env(), **CONFIG.get()}
    host = configured.get(_HOST) or os.environ.get(PROVIDER_VARIABLES[_HOST], "")
    if host:
        found = _json(f"https://{host}/metadata/endpoints?api-version={_METADATA_VERSION}", {})
        return str(found["resourceManager"]).rstrip("/")
    cloud = configured.get(_CLOUD) or os.environ.get(PROVIDER_VARIABLES[_CLOUD], "")
    if cloud.lower() not in ("", "public", "azurecloud"):
        raise UnreadableError(f"the Resource Manager endpoint of the cloud {cloud} isn't known")
    return PUBLIC


def _json(url: str, headers: Mapping[str, str]) -> dict[str, Any]:
    opener = urllib.request.build_opener(_NoRedirect)
    request = urllib.request.Request(url, headers={**headers, "Accept": "application/json"})  # noqa: S310  always https
    for pause in _PAUSES_SECONDS:
        try:
            return _answer(opener, request)
        except HTTPError as error:
            if error.code != HTTPStatus.TOO_MANY_REQUESTS:
                raise
        time.sleep(pause)
    return _answer(opener, request)


def _answer(opener: urllib.request.OpenerDirector, request: urllib.request.Request) -> dict[str, Any]:
    with opener.open(request, timeout=_SECONDS) as answer:
        return cast(dict[str, Any], json.load(answer))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, so that the token reaches no other host."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None
