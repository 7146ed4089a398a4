"""Downloads and uploads files of blob storage for the embedded Azure: resource files, application packages, outputs.

Validated as a request of a client would be: by the signature that an address carries, an identity's role, or public access.
"""

import asyncio
import contextlib
import os
import xml.etree.ElementTree as ElementTree
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from azure_gpu.formats import azure_types
from localazure.blobs import upstream
from localazure.blobs.access import Access, Incoming
from localazure.blobs.addresses import Address, RequestedUrl, of_path, of_url, query_of
from localazure.blobs.errors import BlobError, blob_error
from localazure.blobs.operations import Operation, operation_of
from localazure.blobs.upstream import Upstream
from localazure.folder import random_secret
from localazure.kinds.attached_identities import principal_of
from localazure.services import Services

_PUBLIC_SUFFIX = ".blob.core.windows.net"
_CHUNK = 1024 * 1024
_AT_ONCE = 8
_APPEND_BYTES = 4 * 1024 * 1024  # of one block; Microsoft Learn, rest/api/storageservices/append-block, before 2022-11-02
_OUTSIDE_SECONDS = 60  # without a byte from a server outside


class Transfers:
    """Downloads and uploads."""

    def __init__(self, services: Services, access: Access, keeper: Upstream) -> None:
        self._services = services
        self._access = access
        self._keeper = keeper

    async def fetch(self, url: str, prefix: str, target: Path, identity_id: str | None = None) -> list[Path]:
        """Downloads to `target`, and says which files were written. BlobError where that isn't allowed or possible.

        A blob, or any other address of http(s), becomes the file `target`. Of a container all blobs whose names begin with
        `prefix` become files below the folder `target`, by their whole names.
        """
        requested = self._asked(url)
        if requested is None:
            await asyncio.to_thread(_download, url, target)
            return [target]
        if requested.address.level == "blob":
            self._judge(requested, operation_of("blob", "GET", {}), self._principal(identity_id))
            await self._read(requested.address, requested.query.get("snapshot", ""), target)
            return [target]
        if requested.address.level == "service":
            raise blob_error("BlobNotFound")
        listing = operation_of("container", "GET", {"restype": "container", "comp": "list"})
        principal = self._principal(identity_id)
        self._judge(requested, listing, principal)
        return await self._read_all(requested, prefix, target, principal)

    async def upload(self, path: Path, container_url: str, blob_path: str, identity_id: str | None = None) -> None:
        """Uploads a file as the block blob `blob_path` into a container. BlobError where that isn't allowed or possible."""
        requested = self._asked(container_url)
        if requested is None or not requested.address.container:
            raise BlobError(400, "InvalidUri", f"'{_without_query(container_url)}' isn't a container of the embedded Azure.")
        container = requested.address
        name = "/".join(filter(None, (container.blob, blob_path.strip("/"))))
        address = of_path(f"/blob{Address(container.account, container.container, name).path}")
        if address.level != "blob":
            raise BlobError(400, "InvalidUri", "A file is uploaded as a blob, which needs a name.")
        writing = operation_of("blob", "PUT", {})
        self._judge(RequestedUrl(address, requested.query), writing, self._principal(identity_id))
        size = path.stat().st_size  # what a running task adds to the file meanwhile isn't uploaded
        headers = {"x-ms-blob-type": "BlockBlob", "content-length": str(size), "content-type": "application/octet-stream"}
        await self._keeper.told("PUT", address, {}, headers, _content(path, size))

    async def begin_append(self, url: str, principal: str | None = None) -> None:
        """Makes an empty append blob, in place of what is there. `principal`: who; None: what the address's signature allows.

        BlobError where it may not.
        """
        await self._append_request(url, principal, {}, {"x-ms-blob-type": "AppendBlob"}, b"")

    async def append(self, url: str, content: bytes, principal: str | None = None) -> None:
        """Adds to an append blob."""
        for start in range(0, len(content), _APPEND_BYTES):
            await self._append_request(url, principal, {"comp": "appendblock"}, {}, content[start : start + _APPEND_BYTES])

    async def _append_request(
        self, url: str, principal: str | None, query: dict[str, str], headers: dict[str, str], content: bytes
    ) -> None:
        requested = self._asked(url)
        if requested is None or requested.address.level != "blob":
            raise BlobError(400, "InvalidUri", f"'{_without_query(url)}' isn't a blob of the embedded Azure.")
        operation = operation_of("blob", "PUT", query)
        own = requested if principal is None else requested._replace(query={})  # a signature isn't the principal's
        self._judge(own, operation, principal)
        await self._keeper.told("PUT", requested.address, query, {**headers, "content-type": "text/plain"}, content)

    def _asked(self, url: str) -> RequestedUrl | None:
        """What an address names in this server; also one of Azure's own for an account that is here."""
        requested = of_url(url, self._services.settings.url)
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        if requested is not None or not host.endswith(_PUBLIC_SUFFIX):
            return requested
        account = host.removesuffix(_PUBLIC_SUFFIX)
        if not self._services.store.named(azure_types.STORAGE_ACCOUNT.arm_type, account):
            return None
        return RequestedUrl(of_path(f"/blob/{account}{parts.path}"), query_of(parts.query))

    def _principal(self, identity_id: str | None) -> str | None:
        """Who an identity is; "" for one that isn't there."""
        return (principal_of(identity_id, self._services) or "") if identity_id else None

    def _judge(self, requested: RequestedUrl, operation: Operation, principal: str | None) -> None:
        if principal is not None and "sig" not in requested.query:
            account = self._access.account(requested.address.account)
            may = self._access.principal_may
            if not principal or not may(principal, operation.action, account, requested.address.container):
                raise blob_error("AuthorizationPermissionMismatch")
            return
        method = "PUT" if operation.creates else "GET"
        as_request = Incoming(method, "", "", {}, requested.address, requested.query, "127.0.0.1", upstream.VERSION)
        self._access.grant(as_request, operation)

    async def _read_all(self, requested: RequestedUrl, prefix: str, target: Path, principal: str | None) -> list[Path]:
        names = [name async for name in self._names(requested.address, prefix)]
        await asyncio.to_thread(target.mkdir, parents=True, exist_ok=True)
        if names:
            reading = operation_of("blob", "GET", {})
            one = Address(requested.address.account, requested.address.container, names[0])
            self._judge(RequestedUrl(one, requested.query), reading, principal)
        at_once = asyncio.Semaphore(_AT_ONCE)

        async def read(name: str) -> Path:
            file = target.joinpath(*filter(None, name.split("/")))
            async with at_once:
                await self._read(Address(requested.address.account, requested.address.container, name), "", file)
            return file

        return list(await asyncio.gather(*(read(name) for name in names)))

    async def _names(self, container: Address, prefix: str) -> AsyncIterator[str]:
        marker = ""
        while True:
            query = {"restype": "container", "comp": "list"} | ({"prefix": prefix} if prefix else {})
            query |= {"marker": marker} if marker else {}
            _, said = await self._keeper.told("GET", container, query)
            document = ElementTree.fromstring(said)  # noqa: S314 - the keeper wrote it
            for each in document.iter("Blob"):
                yield each.findtext("Name") or ""
            marker = document.findtext("NextMarker") or ""
            if not marker:
                return

    async def _read(self, address: Address, snapshot: str, file: Path) -> None:
        """Writes a blob to a file, which is there whole or not at all."""
        async with self._keeper.answer("GET", address, {"snapshot": snapshot} if snapshot else {}, {}) as response:
            if response.status != 200:
                raise upstream.error_of(response.status, await upstream.whole(response))
            with _whole(file) as writing:
                async for chunk in response.aiter_stream():
                    writing.write(chunk)


@contextlib.contextmanager
def _whole(file: Path) -> Iterator[BinaryIO]:
    """Writes a file that is there whole or not at all, with the folders above it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    half = file.with_name(f".{random_secret()[:8]}.part")
    try:
        with half.open("wb") as writing:
            yield writing
        half.replace(file)
    finally:
        half.unlink(missing_ok=True)


def _download(url: str, file: Path) -> None:
    """From a server outside, such as the one that offers a data set."""
    import requests  # here, because every start of the server would wait for what few tasks need

    if urlsplit(url).scheme.lower() not in ("http", "https"):
        raise BlobError(400, "InvalidUri", f"'{_without_query(url)}' isn't an http or https address.")
    try:
        with requests.get(url, stream=True, timeout=_OUTSIDE_SECONDS) as response:
            if response.status_code != 200:
                status = response.status_code if response.status_code >= 400 else 404
                raise BlobError(status, "ResourceNotFound", f"'{_without_query(url)}' answered {response.status_code}.")
            with _whole(file) as writing:
                for chunk in response.iter_content(_CHUNK):
                    writing.write(chunk)
    except requests.RequestException as error:
        raise BlobError(404, "ResourceNotFound", f"'{_without_query(url)}' can't be reached: {type(error).__name__}.") from error


def _without_query(url: str) -> str:
    """An address as it may be told: its query may hold a signature."""
    return url.partition("?")[0]


async def _content(path: Path, size: int) -> AsyncIterator[bytes]:
    left = size
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while left > 0:
            chunk = await asyncio.to_thread(os.read, descriptor, min(_CHUNK, left))
            if not chunk:
                raise BlobError(400, "InvalidInput", f"The file {path.name} became shorter while it was uploaded.")
            left -= len(chunk)
            yield chunk
    finally:
        os.close(descriptor)
