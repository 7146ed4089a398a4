"""Blob storage as the rest of the embedded Azure uses it: containers, files in and out, URLs with a signature.

Made once by the server. Nothing runs before it is needed.
"""

import re
from datetime import datetime

from starlette.routing import BaseRoute, Mount

from localazure.arm.store import Body
from localazure.blobs import installation, sas
from localazure.blobs.access import Access
from localazure.blobs.addresses import Address
from localazure.blobs.admin import BlobAdmin
from localazure.blobs.containers import container_key, record
from localazure.blobs.errors import BlobError
from localazure.blobs.front import Front
from localazure.blobs.keeper import Keeper
from localazure.blobs.transfers import Transfers
from localazure.blobs.upstream import Upstream
from localazure.folder import random_secret
from localazure.kinds.attached_identities import principal_of
from localazure.services import Services

_SECRETS = "blobs/secrets"
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
        self._admin = BlobAdmin(self._keeper)
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
        await self._admin.put(Address(account, container), properties)

    async def ensure_container(self, account_name: str, container: str) -> None:
        """Makes a container where there is none of this name, as Azure's services do in an account that they keep things in."""
        account = self._access.account(account_name)
        await self._ensure(Address(account_name, container))
        if self._services.store.get(container_key(account, container)) is None:
            record(account, container, {"publicAccess": "None"}, self._services)

    async def _ensure(self, address: Address) -> None:
        await self._admin.ensure(address)

    async def exists(self, account_name: str, container: str, blob: str) -> bool:
        return self._process.has_content and await self._admin.exists(Address(account_name, container, blob))

    async def any_below(self, account_name: str, container: str, path: str) -> bool:
        """Whether there is a blob of this name, or one in a folder of this name; with "", any blob of the container."""
        if not self._process.has_content:
            return False
        if path and await self._admin.exists(Address(account_name, container, path)):
            return True
        return await self._admin.any_below(Address(account_name, container), f"{path}/" if path else "")

    async def delete(self, account_name: str, container: str, blob: str) -> None:
        """Deletes a blob with its snapshots, where it is there."""
        if self._process.has_content:
            await self._admin.delete(Address(account_name, container, blob))

    async def drop_container(self, account: str, container: str) -> None:
        """Deletes a container with its blobs, where it is there."""
        if self._process.has_content:
            await self._admin.drop(Address(account, container))

    async def drop_account(self, account_name: str) -> None:
        """Deletes all containers that are kept under an account's name: when it goes, and when one of this name is made."""
        if self._process.has_content:
            await self._admin.drop_all(Address(account_name.lower()))


def _secrets(services: Services) -> dict[str, str]:
    """What opens the keeper, and what signs addresses: made once for a folder."""
    kept = services.store.document(_SECRETS)
    if kept is None:
        kept = {"keeper": random_secret(), "delegation": random_secret()}
        services.store.put_document(_SECRETS, kept)
    return kept
