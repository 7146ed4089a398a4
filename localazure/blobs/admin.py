"""Administers containers and blobs in the embedded Azure's own name: creates, changes and deletes them for ARM."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping

from localazure.arm.store import Body
from localazure.blobs.addresses import Address
from localazure.blobs.containers import headers_of
from localazure.blobs.errors import BlobError
from localazure.blobs.upstream import Upstream

_PUBLIC = "x-ms-blob-public-access"
_CONTAINER = {"restype": "container"}
_ACL = {**_CONTAINER, "comp": "acl"}


class BlobAdmin:
    """Requests of the embedded Azure itself to the blob storage behind it, without a client's authorization."""

    def __init__(self, keeper: Upstream) -> None:
        self._keeper = keeper

    async def ensure(self, address: Address) -> None:
        """Makes the container where it doesn't exist."""
        await self._ask("PUT", address, _CONTAINER, {}, taken=(409,))

    async def put(self, address: Address, properties: Body) -> None:
        """Makes the container, or sets metadata and public access of the one that is there, as ARM's body says."""
        headers = headers_of(properties)
        status, _ = await self._ask("PUT", address, _CONTAINER, headers, taken=(409,))
        if status != 409:
            return
        public = {name: value for name, value in headers.items() if name == _PUBLIC}
        metadata = {name: value for name, value in headers.items() if name != _PUBLIC}
        await self._ask("PUT", address, {**_CONTAINER, "comp": "metadata"}, metadata)
        _, policies = await self._ask("GET", address, _ACL, {})
        await self._ask("PUT", address, _ACL, public, policies)

    async def drop(self, address: Address) -> None:
        """Deletes the container; one that doesn't exist is no error, and a lease doesn't hold it: its account's owner asks."""
        status, _ = await self._ask("DELETE", address, _CONTAINER, {}, taken=(404, 412))
        if status == 412:
            breaking = {"x-ms-lease-action": "break", "x-ms-lease-break-period": "0"}
            await self._ask("PUT", address, {**_CONTAINER, "comp": "lease"}, breaking)
            await self._ask("DELETE", address, _CONTAINER, {}, taken=(404,))

    async def drop_all(self, account: Address) -> None:
        """Deletes all containers of an account."""
        while True:
            _, content = await self._ask("GET", account, {"comp": "list"}, {})
            names = [each.text or "" for each in ElementTree.fromstring(content).iterfind("Containers/Container/Name")]  # noqa: S314
            if not names:
                return
            for name in names:
                await self.drop(Address(account.account, name))

    async def exists(self, address: Address) -> bool:
        status, _ = await self._ask("HEAD", address, {}, {}, taken=(404,))
        return status != 404

    async def any_below(self, container: Address, prefix: str) -> bool:
        """Whether a blob's name begins so; False where there is no such container."""
        query = {**_CONTAINER, "comp": "list", "maxresults": "1"} | ({"prefix": prefix} if prefix else {})
        status, content = await self._ask("GET", container, query, {}, taken=(404,))
        return status != 404 and ElementTree.fromstring(content).find("Blobs/Blob") is not None  # noqa: S314

    async def delete(self, address: Address) -> None:
        """Deletes the blob with its snapshots; one that doesn't exist is no error."""
        await self._ask("DELETE", address, {}, {"x-ms-delete-snapshots": "include"}, taken=(404,))

    async def _ask(
        self,
        method: str,
        address: Address,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        content: bytes = b"",
        taken: tuple[int, ...] = (),
    ) -> tuple[int, bytes]:
        """Status and body of an answer. BlobError for one that is neither good nor one of `taken`."""
        length = {"content-length": str(len(content))} if method == "PUT" else {}
        body = content if method == "PUT" else None
        async with self._keeper.answer(method, address, query, {**headers, **length}, body) as response:
            said = b"".join([chunk async for chunk in response.aiter_stream()])
        if response.status >= 300 and response.status not in taken:
            raise error_of(response.status, said)
        return response.status, said


def error_of(status: int, content: bytes) -> BlobError:
    """The keeper's refusal as ours."""
    try:
        document = ElementTree.fromstring(content)  # noqa: S314 - the keeper wrote it
        code, message = document.findtext("Code") or "", document.findtext("Message") or ""
    except ElementTree.ParseError:
        code, message = "", ""
    return BlobError(status, code or "InternalError", message.partition("\n")[0] or f"Blob storage answered {status}.")
