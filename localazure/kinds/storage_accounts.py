"""Storage accounts, as ARM sees them: sku, kind, settings, endpoints and keys. Blobs are served by `localazure/blobs`, which
checks the keys that lie here; queues, tables and the file service are not.

A file share is a folder below the state folder, there as soon as a container group mounts it, and gone with its account.
"""

import asyncio
import base64
import re
import secrets
import shutil
from pathlib import Path

from azure_gpu.formats import azure_types
from localazure.arm.errors import refused
from localazure.arm.kind import Answer, Call, Change, Kind, action
from localazure.arm.store import Body, Resource
from localazure.blobs.errors import BlobError
from localazure.blobs.service import Blobs
from localazure.kinds import blob_containers, private_link_scopes, vault_keys
from localazure.services import Services, Settings

KEY_BYTES = 64
_KEY_NAMES = ("key1", "key2")
# Microsoft Learn, rest/api/storageservices/naming-and-referencing-shares--directories--files--and-metadata
SHARE_NAME = re.compile(r"(?=.{3,63}$)[a-z0-9]+(?:-[a-z0-9]+)*")
SHARE_RULE = "3 to 63 lowercase letters, digits and hyphens, no hyphen at either end and no two in a row"


class StorageAccounts(Kind):
    azure_type = azure_types.STORAGE_ACCOUNT

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def facts(self, change: Change) -> Body:
        given = (change.properties.get("encryption") or {}).get("keyvaultproperties") or {}
        vault = vault_keys.vault_at(str(given.get("keyvaulturi") or ""), change.services)
        return {"recoverable": vault is None or vault.properties.get("enablePurgeProtection") is True}

    async def provision(self, change: Change) -> Body:
        sku = {"tier": "Premium" if str(change.body["sku"]["name"]).startswith("Premium") else "Standard"}
        if change.creating:
            await self._drop_blobs(change.id.name)  # a request may have left some while an account of this name went
            made = change.services.clock.stamp()
            change.stored.private["keys"] = {name: _new_key(made) for name in _KEY_NAMES}
        return {**await super().provision(change), "sku": sku}

    async def remove(self, resource: Resource, services: Services) -> None:
        await self._drop_blobs(resource.id.name)
        await asyncio.to_thread(shutil.rmtree, _shares(services.settings, resource.id.name), ignore_errors=True)

    def live(self, resource: Resource, services: Services) -> Body:
        connected = private_link_scopes.connections(resource, services, "actionRequired")
        endpoints = {"blob": self._blobs.endpoint(resource.id.name)}
        return {"properties": {"primaryEndpoints": endpoints, "privateEndpointConnections": connected}}

    @action("listKeys")
    async def list_keys(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        _refuse_without_keys(resource)
        return Answer(body=_keys(resource))

    @action("regenerateKey")
    async def regenerate_key(self, resource: Resource, call: Call) -> Answer:
        _refuse_without_keys(resource)
        name = call.body.get("keyName")
        if name not in _KEY_NAMES:
            raise refused("account: key name", name=name)
        made = call.services.clock.stamp()
        resource.private["keys"][name] = _new_key(made)
        resource.service["properties"]["keyCreationTime"][name] = made
        call.services.store.put(resource)
        return Answer(body=_keys(resource))

    async def _drop_blobs(self, account: str) -> None:
        try:
            await self._blobs.drop_account(account)
        except BlobError as error:
            raise blob_containers.as_arm(error) from error


def share_folder(settings: Settings, account: str, share: str) -> Path:
    """Where the files of a share lie."""
    return _shares(settings, account) / share


def _shares(settings: Settings, account: str) -> Path:
    return settings.state / "shares" / account.lower()


def _refuse_without_keys(resource: Resource) -> None:
    if resource.properties.get("allowSharedKeyAccess") is False:
        raise refused("account: no keys")


def _new_key(made: str) -> Body:
    return {"value": base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode("ascii"), "creationTime": made}


def _keys(resource: Resource) -> Body:
    keys = resource.private["keys"]
    return {"keys": [{"keyName": name, "permissions": "FULL", **keys[name]} for name in _KEY_NAMES]}
