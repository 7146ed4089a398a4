"""Sends requests to the process that keeps the blobs: with selected headers, and both bodies as streams.

Nothing of a client's request is passed on that isn't listed here, so nothing can mean more behind the front than before it.
"""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from urllib.parse import quote, urlencode

import httpcore

from localazure.blobs.addresses import Address
from localazure.blobs.errors import BlobError, blob_error, not_implemented
from localazure.blobs.keeper import Keeper, KeeperError

VERSION = "2025-11-05"  # of the service's API, as Azurite 3.35 speaks it
PASSED = frozenset(
    {
        "cache-control", "content-disposition", "content-encoding", "content-language", "content-length", "content-md5",
        "content-type", "if-match", "if-modified-since", "if-none-match", "if-unmodified-since", "range",
    }
)  # fmt: skip
# Headers about the caller or the signature, or that name another blob: they are validated before a request is passed on.
_KEPT_BACK = frozenset(
    {
        "x-ms-client-request-id", "x-ms-date", "x-ms-file-request-intent",
        "x-ms-request-id", "x-ms-return-client-request-id", "x-ms-version",
    }
)  # fmt: skip
_NOT_SERVED = re.compile(
    "x-ms-(?:encryption-.*|content-crc64|range-get-content-crc64|structured-.*|immutability-.*|legal-hold|deny-encryption-.*"
    "|default-encryption-.*|source-encryption-.*|access-tier-if-.*)"
)
_OWN = re.compile(r"x-ms-[a-z0-9_-]+")
_NOT_ANSWERED = frozenset({"connection", "date", "keep-alive", "transfer-encoding", "upgrade", "x-ms-request-id", "x-ms-version"})
_OF_DOCUMENTS = ("PutBlockList", "SetBlobTags", "SetContainerACL", "SetServiceProperties")
_UNREADABLE = b"x-local-unexpected"
_TIMEOUTS = {"connect": 10.0, "read": 300.0, "write": 300.0, "pool": 60.0}
_IDLE_SECONDS = 60
_MOST_CONNECTIONS = 256


class Upstream:
    """Connections to the keeper, opened as they are needed."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._pool = httpcore.AsyncConnectionPool(
            max_connections=_MOST_CONNECTIONS, keepalive_expiry=_IDLE_SECONDS, http1=True, http2=False
        )

    @asynccontextmanager
    async def answer(
        self,
        method: str,
        address: Address,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        content: AsyncIterator[bytes] | bytes | None = None,
    ) -> AsyncIterator[httpcore.Response]:
        """The answer to one request, whose body is read with `aiter_stream`. `headers` have passed `passed_on`.

        BlobError 503 where the keeper is lost on the way, 501 where it can't run on this machine.
        """
        target = address.path + (f"?{urlencode(query, quote_via=quote)}" if query else "")
        for attempt in (1, 2):
            try:
                port = await self._keeper.port()
            except KeeperError as error:
                raise not_implemented(f"blob storage on this machine: {error}") from error
            sent = [
                (b"Host", b"localhost"),
                (b"Authorization", self._keeper.authorization.encode()),
                (b"x-ms-version", VERSION.encode()),
            ]
            sent += [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
            url = httpcore.URL(scheme=b"http", host=b"127.0.0.1", port=port, target=target.encode("ascii"))
            opened = self._pool.stream(method, url, headers=sent, content=content, extensions={"timeout": _TIMEOUTS})
            try:
                response = await opened.__aenter__()
            except (httpcore.ConnectError, httpcore.RemoteProtocolError, httpcore.ReadError) as error:
                # It was killed. Started again it can be asked again, where the request's body is still whole.
                if attempt == 1 and (content is None or isinstance(content, bytes)):
                    continue
                raise blob_error("ServerBusy") from error
            except httpcore.LocalProtocolError as error:  # such as a body that is shorter than was told
                raise blob_error("InvalidInput") from error
            except (httpcore.NetworkError, httpcore.TimeoutException) as error:
                raise blob_error("ServerBusy") from error
            try:
                yield response
            except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
                raise blob_error("ServerBusy") from error
            finally:
                await opened.__aexit__(None, None, None)
            return

    async def told(
        self,
        method: str,
        address: Address,
        query: Mapping[str, str] = MappingProxyType({}),
        headers: Mapping[str, str] = MappingProxyType({}),
        content: AsyncIterator[bytes] | bytes = b"",
        taken: tuple[int, ...] = (),
    ) -> tuple[int, bytes]:
        """Status and whole body of an answer. BlobError for one that is neither good nor one of `taken`."""
        length = {"content-length": str(len(content))} if method == "PUT" and isinstance(content, bytes) else {}
        body = content if method == "PUT" else None
        async with self.answer(method, address, query, {**headers, **length}, body) as response:
            said = await whole(response)
        if response.status >= 300 and response.status not in taken:
            raise error_of(response.status, said)
        return response.status, said

    async def close(self) -> None:
        await self._pool.aclose()


async def whole(response: httpcore.Response) -> bytes:
    return b"".join([chunk async for chunk in response.aiter_stream()])


def error_of(status: int, content: bytes) -> BlobError:
    """The keeper's refusal as ours."""
    try:
        document = ElementTree.fromstring(content)  # noqa: S314 - the keeper wrote it
        code, message = document.findtext("Code") or "", document.findtext("Message") or ""
    except ElementTree.ParseError:
        code, message = "", ""
    return BlobError(status, code or "InternalError", message.partition("\n")[0] or f"Blob storage answered {status}.")


def passed_on(headers: Mapping[str, str]) -> dict[str, str]:
    """What the keeper gets to see of a client's headers. BlobError where one requests what isn't served."""
    passed: dict[str, str] = {}
    for name, value in headers.items():
        if _NOT_SERVED.fullmatch(name):
            raise not_implemented(f"the header {name}")
        if name in PASSED or (_OWN.fullmatch(name) and name not in _KEPT_BACK):
            if any(ord(each) < 0x20 or ord(each) > 0x7E for each in value):
                raise blob_error("InvalidHeaderValue", name=name)
            passed[name] = value
    return passed


def check_answer(response: httpcore.Response, operation: str) -> None:
    """BlobError for a refusal without a code: the keeper has none for what it can't read, and calls some of it its own fault."""
    given = {name.lower() for name, _ in response.headers}
    if response.status == 501:
        raise not_implemented(f"the operation {operation} of blob storage with these arguments")
    if response.status < 400 or b"x-ms-error-code" in given:
        return
    if response.status < 500 or _UNREADABLE in given:
        code = "InvalidInput"
        if operation in _OF_DOCUMENTS:  # of XML that can't be read
            code = "InvalidXmlDocument"
        error = blob_error(code)
        error.status = response.status if response.status < 500 else 400
        raise error
    raise blob_error("InternalError")


def answered(response: httpcore.Response, own: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer that a client gets to see; those of `own` take the place of the keeper's."""
    left_out = {name.encode() for name in (*_NOT_ANSWERED, *own)}
    kept = [(name.lower(), value) for name, value in response.headers if name.lower() not in left_out]
    return kept + [(name.encode(), value.encode("latin-1", "replace")) for name, value in own.items()]
