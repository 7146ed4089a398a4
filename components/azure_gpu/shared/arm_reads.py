"""Reads of Azure Resource Manager that azure-native has no function for: lists, and API versions other than its own.

In: a path, and who asks. Out: what Azure answers. The token is the provider's own, and goes nowhere else than to the Resource
Manager that the provider's configuration names.
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
_PAUSES_SECONDS = (1.0, 2.0, 5.0)  # where Azure throttles: as many tries more


class UnreadableError(Exception):
    """Nothing can be read. The text is for the user."""


def get(path: str, api_version: str, asks: pulumi.InvokeOptions, query: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What a GET of an ARM path answers, as whoever the provider of `asks` logs in as."""
    asked = urlencode({**(query or {}), "api-version": api_version}, quote_via=quote)
    try:
        token = authorization.get_client_token(opts=asks).token
        if not token:  # a picture of a stack asks no cloud
            raise UnreadableError("nobody is logged in")
        return _json(f"{_endpoint()}{quote(path)}?{asked}", {"Authorization": f"Bearer {token}"})
    except UnreadableError:
        raise
    except HTTPError as error:
        raise UnreadableError(f"Azure answers {error.code}") from None
    except Exception as error:  # noqa: BLE001  of the SDK's call, the network and JSON; a look-up that fails decides nothing
        raise UnreadableError(existing.reason_of(error)) from None


def _endpoint() -> str:
    """Where the provider's cloud has its Resource Manager."""
    configured = {**get_config_env(), **CONFIG.get()}
    host = configured.get(_HOST) or os.environ.get(PROVIDER_VARIABLES[_HOST], "")
    if host:
        found = _json(f"https://{host}/metadata/endpoints?api-version={_METADATA_VERSION}", {})
        return str(found["resourceManager"]).rstrip("/")
    cloud = configured.get(_CLOUD) or os.environ.get(PROVIDER_VARIABLES[_CLOUD], "")
    if cloud.lower() not in ("", "public", "azurecloud"):
        raise UnreadableError(f"where the cloud {cloud} has its Resource Manager isn't known here")
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
    """A token isn't carried elsewhere."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None
