"""Batches: up to 256 deletions or changes of tier in one request, each with its own authorization and validated by it.

Body and answer are `multipart/mixed`; the answers are in the order of the requests. Source: Microsoft Learn,
rest/api/storageservices/blob-batch.
"""

import re
import uuid
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Scope

from localazure.blobs.access import Incoming
from localazure.blobs.addresses import PREFIX, of_path
from localazure.blobs.errors import BlobError

WITHIN = "localazure.blobs.batch"  # key in the scope of a request that stands in a batch, with a `Within`
SERVED = ("DeleteBlob", "SetBlobTier")
MOST = 256
_MOST_BYTES = 4 * 1024 * 1024
_BOUNDARY = re.compile(r'multipart/mixed;\s*boundary="?([\w\'()+,./:=? -]{1,70}?)"?\s*', re.IGNORECASE)
_REQUEST_LINE = re.compile(r"(DELETE|PUT) (/[!-~]*) HTTP/1\.1")
_HEADER = re.compile(r"([A-Za-z0-9-]+):[ \t]*([ -~]*)")
_REASONS = {200: "OK", 202: "Accepted", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 409: "Conflict"}


class Within(NamedTuple):
    """What a request in a batch has from it."""

    version: str  # of the service's API, which the batch names for all
    signed_path: str  # as it stood in the batch, where the account may be left out


class _Part(NamedTuple):
    """One request of a batch."""

    content_id: str
    method: str
    target: str
    headers: list[tuple[bytes, bytes]]


async def answer(request: Request, incoming: Incoming, front: ASGIApp) -> Response:
    """Sends each request of the batch through `front`, as if it had come alone, and puts the answers together."""
    found = _BOUNDARY.fullmatch(incoming.headers.get("content-type", ""))
    if found is None:
        raise _invalid("its content type is not multipart/mixed with a boundary")
    parts = [_part(each) for each in _split(await _whole(request), found[1])]
    if not 1 <= len(parts) <= MOST:
        raise _invalid(f"it holds {len(parts)} requests; 1 to {MOST} are taken")
    scopes = [_scope(part, request, incoming) for part in parts]
    boundary = f"batchresponse_{uuid.uuid4()}"
    answers = [await _answered(front, part, scope) for part, scope in zip(parts, scopes, strict=True)]
    lines = [f"--{boundary}\r\n".encode() + each + b"\r\n" for each in answers]
    content = b"".join([*lines, f"--{boundary}--\r\n".encode()])
    return Response(content, 202, {"content-type": f"multipart/mixed; boundary={boundary}"})


def _split(content: bytes, boundary: str) -> list[bytes]:
    delimiter = b"--" + boundary.encode("ascii")
    before, *parts = content.split(delimiter)
    if before.strip() or not parts or not parts[-1].startswith(b"--"):
        raise _invalid("its parts are not delimited by its boundary")
    return parts[:-1]


def _part(content: bytes) -> _Part:
    text = content.decode("latin-1").removeprefix("\r\n")
    own, _, request = text.partition("\r\n\r\n")
    head, _, _ = request.partition("\r\n\r\n")
    line, *lines = head.rstrip("\r\n").split("\r\n")
    requested = _REQUEST_LINE.fullmatch(line)
    if requested is None:
        raise _invalid("a part isn't a DELETE or PUT request")
    own_headers = {name.decode(): value.decode() for name, value in _headers(own.split("\r\n"))}
    return _Part(own_headers.get("content-id", ""), requested[1], requested[2], _headers(lines))


def _headers(lines: list[str]) -> list[tuple[bytes, bytes]]:
    found = [_HEADER.fullmatch(line) for line in lines]
    if None in found:
        raise _invalid("a part has an invalid header")
    return [(each[1].lower().encode(), each[2].strip().encode()) for each in found if each is not None]


def _scope(part: _Part, request: Request, incoming: Incoming) -> Scope:
    """The part as a separate request, which has to be about the batch's account, and its container where it names one."""
    path, _, query = part.target.partition("?")
    outer = incoming.address
    below = path.removeprefix("/").removeprefix(f"{outer.account}/")
    whole = path if path.startswith(PREFIX) else f"{PREFIX}{outer.account}/{below}"
    address = of_path(whole)
    if address.account != outer.account or (outer.container and address.container != outer.container):
        raise _invalid("a part is about another account or container")
    return {
        "type": "http",
        "http_version": "1.1",
        "method": part.method,
        "scheme": "https",
        "path": whole,
        "raw_path": whole.encode("ascii"),
        "query_string": query.encode("ascii"),
        "headers": part.headers,
        "client": request.scope.get("client"),
        WITHIN: Within(incoming.version, path),
    }


async def _answered(front: ASGIApp, part: _Part, scope: Scope) -> bytes:
    """The part's answer, written out."""
    status, headers, body = 500, [], bytearray()

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, headers
        if message["type"] == "http.response.start":
            status, headers = message["status"], list(message["headers"])
        else:
            body.extend(message.get("body", b""))

    await front(scope, receive, send)
    own = f"Content-Type: application/http\r\nContent-ID: {part.content_id}\r\n\r\n" if part.content_id else _NO_ID
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Answered')}".encode(), *(b"%s: %s" % pair for pair in headers)]
    return own.encode() + b"\r\n".join([*lines, b"", bytes(body)])


_NO_ID = "Content-Type: application/http\r\n\r\n"


async def _whole(request: Request) -> bytes:
    whole = bytearray()
    async for chunk in request.stream():
        whole += chunk
        if len(whole) > _MOST_BYTES:
            raise BlobError(
                413, "RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit."
            )
    return bytes(whole)


def _invalid(why: str) -> BlobError:
    return BlobError(400, "InvalidInput", f"One of the request inputs is not valid: {why}.")
