"""Blob containers, as ARM sees them. The same containers are made and deleted through the data plane, which keeps ARM's record up
to date (`localazure/blobs/containers.py`).

Source: Microsoft Learn, REST reference of Microsoft.Storage/storageAccounts/blobServices/containers 2024-01-01.
"""

from azure_gpu.formats import azure_types
from localazure.arm.errors import ArmError, refused
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.blobs import containers
from localazure.blobs.errors import BlobError
from localazure.blobs.service import Blobs
from localazure.services import Services


class BlobContainers(Kind):
    """Made at once, in the keeper of the blobs and in ARM's store."""

    azure_type = azure_types.BLOB_CONTAINER

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def listed(self, scope: str, conditions: str, services: Services) -> list[Resource]:
        account = scope.removesuffix(self.between)
        super().listed(account, conditions, services)  # refuses what doesn't exist
        stored = services.store.get(account)
        return containers.of_account(stored, services) if stored is not None else []

    def check(self, change: Change) -> None:
        scope = change.id.scope.rsplit("/", 1)[1]
        if scope.lower() != "default":
            raise refused("container: no service", service=scope)
        account = change.services.store.get(self.parent_id(change.id))
        opened = account is not None and account.properties.get("allowBlobPublicAccess") is True
        if change.properties.get("publicAccess", "None") != "None" and not opened:
            raise refused("container: public")

    async def provision(self, change: Change) -> Body:
        account = self.parent_id(change.id).rsplit("/", 1)[1].lower()
        try:
            await self._blobs.put_container(account, change.id.name, change.properties)
        except BlobError as error:
            raise as_arm(error) from error
        return containers.created(change.services.clock.stamp())

    async def remove(self, resource: Resource, services: Services) -> None:  # noqa: ARG002
        account = self.parent_id(resource.id).rsplit("/", 1)[1].lower()
        try:
            await self._blobs.drop_container(account, resource.id.name)
        except BlobError as error:
            raise as_arm(error) from error


def as_arm(error: BlobError) -> ArmError:
    return ArmError(error.status, error.code, error.message)
