"""Copies: `x-ms-copy-source` names another blob, which the caller has to be allowed to read.

A source within this server is validated like a read of it; one elsewhere is refused. The keeper copies whole blobs; a
blob, block, append or page "from URL" is read there and written here.
Source: Microsoft Learn, rest/api/storageservices/copy-blob and put-blob-from-url.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import httpcore

from localazure.blobs import upstream
from localazure.blobs.access import Access, Incoming
from localazure.blobs.addresses import Address, of_url
from localazure.blobs.errors import BlobError, invalid_header, not_implemented
from localazure.blobs.operations import Operation, operation_of
from localazure.blobs.upstream import Upstream
from localazure.services import Services

HEADER = "x-ms-copy-source"
_OWN_TOKEN = "x-ms-copy-source-authorization"  # noqa: S105 - a header's name
_OF_SOURCE = "x-ms-source-"
_CONDITIONS = ("if-match", "if-none-match", "if-modified-since", "if-unmodified-since")
_TAKEN_OVER = ("content-type", "content-encoding", "content-language", "cache-control", "content-disposition")


class Source(NamedTuple):
    """A blob that may be read."""

    address: Address
    snapshot: str
    plain_url: str  # its address without a signature, which everybody who reads the copy's properties is told


async def judged(incoming: Incoming, access: Access, services: Services) -> Source:
    """The source that a request names. BlobError where it isn't one of this server, or where it may not be read."""
    server = services.settings.url
    requested = of_url(incoming.headers[HEADER], server)
    if requested is None:
        raise not_implemented("copies from another server")
    if requested.address.level != "blob":
        raise invalid_header(HEADER)
    reading = operation_of("blob", "GET", {}, has_source=False)
    own_token = incoming.headers.get(_OWN_TOKEN, "")
    within = requested.address.account == incoming.address.account and "sig" not in incoming.query
    if within and "sig" not in requested.query and not own_token:
        await _as_the_copier(incoming, requested.address, access, reading)
    else:
        parts = urlsplit(incoming.headers[HEADER])
        headers = {"authorization": own_token} if own_token else {}
        source = Incoming(
            "GET", parts.path, parts.query, headers, requested.address, requested.query, incoming.client, upstream.VERSION
        )
        try:
            await access.grant(source, reading)
        except BlobError as error:
            status = 403 if error.status == 401 else error.status
            raise BlobError(status, "CannotVerifyCopySource", error.message, detail=error.detail) from error
    snapshot = requested.query.get("snapshot", "")
    url = f"{server}/blob{requested.address.path}" + (f"?snapshot={quote(snapshot)}" if snapshot else "")
    return Source(requested.address, snapshot, url)


@asynccontextmanager
async def opened(
    source: Source, operation: Operation, headers: Mapping[str, str], keeper: Upstream
) -> AsyncIterator[tuple[dict[str, str], AsyncIterator[bytes]]]:
    """The headers and the body of the request that writes what the source holds."""
    requested = {name: headers[_OF_SOURCE + name] for name in _CONDITIONS if _OF_SOURCE + name in headers}
    if f"{_OF_SOURCE}range" in headers:
        requested["range"] = headers[f"{_OF_SOURCE}range"]
    query = {"snapshot": source.snapshot} if source.snapshot else {}
    async with keeper.answer("GET", source.address, query, requested) as read:
        answered = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in read.headers}
        if read.status >= 300 or "content-length" not in answered:
            status = read.status if 400 <= read.status < 500 else 412
            raise BlobError(status, "CannotVerifyCopySource", "The source of the copy can't be read, or not as requested.")
        left = {name: value for name, value in headers.items() if not name.startswith(_OF_SOURCE) and name != "content-md5"}
        if operation.name == "CopyBlob":
            left = _taken_over(answered) | left
        yield left | {"content-length": answered["content-length"]}, _chunks(read)


async def _as_the_copier(incoming: Incoming, source: Address, access: Access, reading: Operation) -> None:
    """Within an account whoever signs with its key may read it all; a token's principal needs the right to."""
    if incoming.headers.get("authorization", "").lower().startswith("bearer "):
        await access.grant(incoming._replace(address=source, query={}, method="GET"), reading)


async def _chunks(response: httpcore.Response) -> AsyncIterator[bytes]:
    async for chunk in response.aiter_stream():
        yield chunk


def _taken_over(source: Mapping[str, str]) -> dict[str, str]:
    """A blob put from a URL has the source's own properties where the request sets none."""
    properties = {f"x-ms-blob-{name}": source[name] for name in _TAKEN_OVER if name in source}
    return properties | {name: value for name, value in source.items() if name.startswith("x-ms-meta-")}
