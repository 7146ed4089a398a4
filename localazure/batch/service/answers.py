"""Answers of the data plane: objects, lists with a link to their next page, refusals; entity tags and conditions on them."""

import asyncio
import base64
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import urlencode

from starlette.responses import JSONResponse, Response

from localazure.arm.store import Body
from localazure.batch.errors import BatchError
from localazure.batch.service import odata
from localazure.batch.service.request import DataPlaneRequest

CONTENT_TYPE = "application/json;odata=minimalmetadata"
_TOGETHER = 100  # entries of a list
_SECRET = frozenset({"password", "sshprivatekey", "accountkey", "saskey", "protectedsettings"})  # given and never answered


def one(request: DataPlaneRequest, metadata: str, entry: Body) -> Response:
    """An object, or what of it `$select` names."""
    headers = tags(entry)
    content = {
        "odata.metadata": request.url(f"$metadata#{metadata}/@Element"),
        **odata.selected(without_secrets(entry), request.query.get("$select", "")),
    }
    return JSONResponse(content, headers=headers, media_type=CONTENT_TYPE)


def done(request: DataPlaneRequest, status: int, entry: Body | None = None, *, location: str = "") -> Response:
    """An operation that answers nothing but headers."""
    headers = tags(entry or {}) | {"DataServiceId": location or request.here}
    if location:
        headers["Location"] = location
    return Response(status_code=status, headers=headers)


async def listed(
    request: DataPlaneRequest,
    metadata: str,
    entries: Iterable[Body],
    key: Callable[[Body], str] = lambda entry: entry["id"].lower(),
) -> Response:
    """A page of a list: `entries` come in the order of `key`, and after the one that the last page ended with.

    Others are served between a few entries and the next, so what `entries` reads may change meanwhile.
    """
    most, after, requested = request.most, request.after, odata.parse(request.query.get("$filter", ""), odata.LISTS[metadata])
    page: list[Body] = []
    shown: list[Body] = []
    more = False
    for number, entry in enumerate(entries, 1):
        if not number % _TOGETHER:
            await asyncio.sleep(0)
        if (after and key(entry) <= after) or not requested(entry):
            continue
        if len(page) == most:
            more = True
            break
        page.append(entry)
        shown.append(odata.selected(without_secrets(entry), request.query.get("$select", "")))
    content: Body = {
        "odata.metadata": request.url(f"$metadata#{metadata}"),
        "value": shown,
    }
    if more:
        token = base64.urlsafe_b64encode(key(page[-1]).encode()).decode()
        query = [(name, value) for name, value in request.request.query_params.items() if name.lower() != "$skiptoken"]
        content["odata.nextLink"] = f"{request.here}?{urlencode([*query, ('$skiptoken', token)])}"
    await asyncio.sleep(0)
    return JSONResponse(content, media_type=CONTENT_TYPE)


def plain(request: DataPlaneRequest, metadata: str, content: Body) -> Response:
    """An object that isn't an entry of a list."""
    return JSONResponse({"odata.metadata": request.url(f"$metadata#{metadata}"), **content}, media_type=CONTENT_TYPE)


def refused(error: BatchError, address: str) -> Response:
    content = {"odata.metadata": f"{address}/$metadata#Microsoft.Azure.Batch.Protocol.Entities.Container.errors/@Element"}
    return JSONResponse(content | error.body(), status_code=error.status, headers=error.headers, media_type=CONTENT_TYPE)


def tags(entry: Body) -> dict[str, str]:
    """The headers that tell an entry's version."""
    headers: dict[str, str] = {}
    if entry.get("eTag"):
        headers["ETag"] = entry["eTag"]
    if entry.get("lastModified"):
        headers["Last-Modified"] = format_datetime(datetime.fromisoformat(entry["lastModified"]).astimezone(UTC), usegmt=True)
    return headers


def conditions(request: DataPlaneRequest, entry: Body) -> None:
    """BatchError 412 where the entry isn't of the version that the request names."""
    requested = {each.strip().removeprefix("W/").strip('"') for each in request.header("if-match").split(",")} - {""}
    if requested and "*" not in requested and entry.get("eTag", "") not in requested:
        raise BatchError("ConditionNotMet")


def without_secrets(value: Any) -> Any:
    """A value without what is only ever given."""
    if isinstance(value, dict):
        return {name: without_secrets(each) for name, each in value.items() if name.lower() not in _SECRET}
    if isinstance(value, list):
        return [without_secrets(each) for each in value]
    return value
