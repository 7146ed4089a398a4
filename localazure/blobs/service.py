"""Blob storage as the rest of the embedded Azure uses it: containers, files in and out, URLs with a signature.

Made once by the server. Nothing runs before it is needed.
"""

import re
import xml.etree.ElementTree as ElementTree
from datetime import datetime

from starlette.routing import BaseRoute, Mount

from localazure.arm.store import Body
from localazure.blobs import installation, sas
from localazure.blobs.access import Access
from localazure.blobs.addresses import Address
from localazure.blobs.containers import PUBLIC, container_key, headers_of, record
from localazure.blobs.errors import BlobError
from localazure.blobs.front import Front
from localazure.blobs.keeper import Keeper
from localazure.blobs.transfers import Transfers
from localazure.blobs.upstream import Upstream
from localazure.folder import random_secret
from localazure.kinds.attached_identities import principal_of
from localazure.services import Services

_SECRETS = "blobs/secrets"
_CONTAINER = {"restype": "container"}
_ACL = {**_CONTAINER, "comp": "acl"}
_LETTERS = re.compile("[racwdlt]+")


class Blobs(Transfers):
    """All of it for one server: files in and out, and what follows."""

    def __init__(self, services: Services) -> None:
        settings = services.settings
        secrets = _secrets(services)
        self._folder = settings.state / "blobs"
        self._endpoint = f"{settings.url}/blob"
        self._process = Keeper(self._folder, settings.state / "logs", self._endpoint, secrets["keeper"], installation.installed)
        super().__init__(services, Access(services, secrets["delegation"]), Upstream(self._process))
        self._front = Front(services, self._access, self._keeper)

    def routes(self) -> list[BaseRoute]:
        return [Mount("/blob", app=self._front)]

    async def stop(self) -> None:
        """Ends what runs, with everything saved."""
        await self._keeper.close()
        await self._process.stop()

    # Addresses

    def endpoint(self, account: str) -> str:
        """An account's `primaryEndpoints.blob`."""
        return f"{self._endpoint}/{account}/"

    def container_url(self, account: str, container: str) -> str:
        return f"{self._endpoint}/{account}/{container}"

    def sas_url(self, account: str, container: str, blob: str, permissions: str, expires: datetime) -> str:
        """The address of a blob, or with `blob` "" of a container, that carries its own permission (letters of racwdlt)."""
        if not _LETTERS.fullmatch(permissions):
            raise ValueError(f"{permissions!r} aren't valid permissions of an address")
        address = Address(account, container, blob)
        query = sas.make(address, permissions, expires, self._access.own_key(account))
        return f"{self._endpoint}{address.path}?{query}"

    # Who may

    def may(self, identity_id: str, account_name: str, write: bool, container: str = "") -> bool:
        """Whether a user-assigned identity has a role by which it reads, or writes, blobs of the account."""
        principal = principal_of(identity_id, self._services)
        if principal is None:
            return False
        try:
            account = self._access.account(account_name)
        except BlobError:
            return False
        action = "containers/blobs/write" if write else "containers/blobs/read"
        return self._access.principal_may(principal, action, account, container)

    # Containers

    async def put_container(self, account: str, container: str, properties: Body) -> None:
        """Makes a container, or sets what ARM's body says of one that is there. BlobError where that isn't possible."""
        headers, address = headers_of(properties), Address(account, container)
        status, _ = await self._keeper.told("PUT", address, _CONTAINER, headers, taken=(409,))
        if status != 409:
            return
        public = {name: value for name, value in headers.items() if name == PUBLIC}
        metadata = {name: value for name, value in headers.items() if name != PUBLIC}
        await self._keeper.told("PUT", address, {**_CONTAINER, "comp": "metadata"}, metadata)
        _, policies = await self._keeper.told("GET", address, _ACL)
        await self._keeper.told("PUT", address, _ACL, public, policies)

    async def ensure_container(self, account_name: str, container: str) -> None:
        """Makes a container where there is none of this name, as Azure's services do in an account that they keep things in."""
        account = self._access.account(account_name)
        await self._ensure(Address(account_name, container))
        if self._services.store.get(container_key(account, container)) is None:
            record(account, container, {"publicAccess": "None"}, self._services)

    async def _ensure(self, address: Address) -> None:
        await self._keeper.told("PUT", address, _CONTAINER, taken=(409,))

    async def exists(self, account_name: str, container: str, blob: str) -> bool:
        return self._process.has_content and await self._is_there("HEAD", Address(account_name, container, blob), {}) is not None

    async def any_below(self, account_name: str, container: str, path: str) -> bool:
        """Whether there is a blob of this name, or one in a folder of this name; with "", any blob of the container."""
        if not self._process.has_content:
            return False
        if path and await self._is_there("HEAD", Address(account_name, container, path), {}) is not None:
            return True
        query = {**_CONTAINER, "comp": "list", "maxresults": "1"} | ({"prefix": f"{path}/"} if path else {})
        found = await self._is_there("GET", Address(account_name, container), query)
        return found is not None and ElementTree.fromstring(found).find("Blobs/Blob") is not None  # noqa: S314

    async def _is_there(self, method: str, address: Address, query: dict[str, str]) -> bytes | None:
        """What is answered of it; None where it doesn't exist."""
        status, said = await self._keeper.told(method, address, query, taken=(404,))
        return None if status == 404 else said

    async def delete(self, account_name: str, container: str, blob: str) -> None:
        """Deletes a blob with its snapshots, where it is there."""
        if self._process.has_content:
            including = {"x-ms-delete-snapshots": "include"}
            await self._keeper.told("DELETE", Address(account_name, container, blob), {}, including, taken=(404,))

    async def drop_container(self, account: str, container: str) -> None:
        """Deletes a container with its blobs, where it is there. A lease doesn't hold it: its account's owner asks."""
        if not self._process.has_content:
            return
        address = Address(account, container)
        status, _ = await self._keeper.told("DELETE", address, _CONTAINER, taken=(404, 412))
        if status == 412:
            breaking = {"x-ms-lease-action": "break", "x-ms-lease-break-period": "0"}
            await self._keeper.told("PUT", address, {**_CONTAINER, "comp": "lease"}, breaking)
            await self._keeper.told("DELETE", address, _CONTAINER, taken=(404,))

    async def drop_account(self, account_name: str) -> None:
        """Deletes all containers that are kept under an account's name: when it goes, and when one of this name is made."""
        account = account_name.lower()
        while self._process.has_content:
            _, listed = await self._keeper.told("GET", Address(account), {"comp": "list"})
            names = [each.text or "" for each in ElementTree.fromstring(listed).iterfind("Containers/Container/Name")]  # noqa: S314
            if not names:
                return
            for name in names:
                await self.drop_container(account, name)


def _secrets(services: Services) -> dict[str, str]:
    """What opens the keeper, and what signs addresses: made once for a folder."""
    kept = services.store.document(_SECRETS)
    if kept is None:
        kept = {"keeper": random_secret(), "delegation": random_secret()}
        services.store.put_document(_SECRETS, kept)
    return kept
