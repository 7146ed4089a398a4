"""One parsed request to the data plane: account, path, query, headers, body."""

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from starlette.requests import Request

from azure_gpu.formats import strict_json
from localazure.arm.caller import Caller
from localazure.arm.store import Body, Resource
from localazure.batch.errors import BatchError
from localazure.batch.model import PoolKey
from localazure.batch.service import models

MAX_BODY_BYTES = 1024 * 1024  # documentation of addtaskcollection: a request over 1 MB is refused with RequestBodyTooLarge
_READ_AT_MOST = 16 * MAX_BODY_BYTES  # of a body that is refused anyway, so that its sender gets to read why
MOST_RESULTS = 1000


@dataclass(slots=True, kw_only=True)
class DataPlaneRequest:
    """A request whose sender is known."""

    request: Request
    account: Resource
    caller: Caller
    segments: list[str]  # below the account's address, decoded
    address: str  # of the account: https://localhost:PORT/batch/ACCOUNT
    query: dict[str, str] = field(default_factory=dict)  # names in lower case

    def pool_key(self, pool_id: str) -> PoolKey:
        return PoolKey(self.account.key, pool_id.lower())

    def url(self, *path: str) -> str:
        return "/".join([self.address, *path])

    @property
    def here(self) -> str:
        """The address of the request, without its query."""
        return "/".join([self.address, *(quote(each) for each in self.segments)])

    def header(self, name: str) -> str:
        return self.request.headers.get(name, "")

    @property
    def most(self) -> int:
        """How many entries a page of a list may have. BatchError 400 out of the range 1 to 1000."""
        text = self.query.get("maxresults", str(MOST_RESULTS))
        values = {"QueryParameterName": "maxresults", "QueryParameterValue": text[:50]}
        if not text.isascii() or not text.removeprefix("-").isdigit():
            raise BatchError("InvalidQueryParameterValue", values=values)
        if len(text) > 9 or not 1 <= int(text) <= MOST_RESULTS:
            raise BatchError("OutOfRangeQueryParameterValue", values=values | {"Minimum": "1", "Maximum": str(MOST_RESULTS)})
        return int(text)

    @property
    def after(self) -> str:
        """Where a page of a list continues."""
        token = self.query.get("$skiptoken", "")
        try:
            return base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
        except (binascii.Error, ValueError) as error:
            values = {"QueryParameterName": "$skiptoken", "QueryParameterValue": token[:200]}
            raise BatchError("InvalidQueryParameterValue", values=values) from error

    async def body(self, model: str) -> Body:
        """The body, held against a model. BatchError 400 or 413."""
        return models.checked(model, await self.raw_body())

    async def optional_body(self, model: str) -> Body:
        """The same where the operation does without one."""
        return models.checked(model, await self.raw_body(empty={}))

    async def raw_body(self, empty: Any = None) -> Any:
        """The body as JSON; `empty` where there is none."""
        content = await _content(self.request)
        if not content.strip():
            if empty is None:
                raise BatchError("InvalidRequestBody", values={"Reason": "The request body is empty"})
            return empty
        try:
            return strict_json.loads(content)
        except (ValueError, RecursionError) as error:
            raise BatchError("InvalidRequestBody", values={"Reason": f"It is not JSON: {error}"[:300]}) from error


def segments_of(raw_path: str) -> list[str]:
    """The path's segments, decoded one by one, so that an encoded slash stays inside of its segment. Empty ones don't count."""
    return [unquote(each) for each in raw_path.split("/") if each]


async def _content(request: Request) -> bytes:
    content = bytearray()
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= MAX_BODY_BYTES:
            content += chunk
        elif size > _READ_AT_MOST:
            break
    if size > MAX_BODY_BYTES:
        raise BatchError("RequestBodyTooLarge", values={"MaxLimit": str(MAX_BODY_BYTES)})
    return bytes(content)
