"""Applications of a Batch account and their packages: zip files in the linked storage account that nodes unpack.

A package comes in three steps: PUT answers an address with its own permission, a client uploads there, `activate` looks that
the file is there (Azure/azure-batch-samples issue 287). The file isn't opened before a node unpacks it. Codes for what goes wrong
with packages aren't known but for those in `batch_refusals`; the others here are assumed.
"""

import hashlib
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from azure_gpu.catalog.services.batch.packages import MOST_OF_ACCOUNT, MOST_OF_APPLICATION
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from localazure.arm import answers
from localazure.arm.errors import ArmError
from localazure.arm.kind import Answer, Call, Change, Kind, action
from localazure.arm.store import Body, Resource
from localazure.blobs.errors import BlobError
from localazure.blobs.service import Blobs
from localazure.kinds import batch_refusals
from localazure.kinds.batch_account_rules import BY_IDENTITY, storage_of
from localazure.kinds.batch_packages import ACTIVE, FORMAT, PENDING
from localazure.kinds.batch_refusals import batch_error, invalid_value
from localazure.kinds.blob_containers import as_arm
from localazure.services import Services

PERMISSIONS = "rw"
HOURS = 4  # how long the address of a package holds


class BatchApplications(Kind):
    azure_type = azure_types.BATCH_APPLICATION

    refusal = staticmethod(batch_refusals.form)

    def check_removal(self, resource: Resource, services: Services) -> None:
        """Told of the service in Azure/BatchExplorer issue 831."""
        versions = services.store.of_type(azure_types.BATCH_APPLICATION_PACKAGE.arm_type, resource.key)
        if versions:
            names = ", ".join(version.id.name for version in versions)
            raise _not_now(f"The application '{resource.id.name}' has packages: {names}. Delete them first.")

    def facts(self, change: Change) -> Body:
        store, default = change.services.store, change.properties.get("defaultVersion")
        others = store.of_type(self.arm_type, change.id.scope) if change.creating else []
        there = change.services.settings.nothing_runs or store.get(f"{change.id.key}/versions/{default}") is not None
        return {"full": len(others) >= MOST_OF_ACCOUNT, "most": MOST_OF_ACCOUNT, "there": there}


class BatchApplicationPackages(Kind):
    azure_type = azure_types.BATCH_APPLICATION_PACKAGE

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    refusal = staticmethod(batch_refusals.form)

    def facts(self, change: Change) -> Body:
        store = change.services.store
        account, storage = _account(change.id, change.services)
        others = store.of_type(self.arm_type, change.id.scope) if change.creating else []
        return {
            "storage": storage.id.name if storage is not None else "",
            "full": len(others) >= MOST_OF_APPLICATION,
            "most": MOST_OF_APPLICATION,
            "shut": storage is not None and not _may_write(account, storage, self._blobs),
        }

    async def provision(self, change: Change) -> Body:
        resource = change.stored
        storage = _storage(resource, change.services)
        if "blob" not in resource.private:
            resource.private["blob"] = _place(resource)
        with _of_storage():
            await self._blobs.ensure_container(storage.id.name, resource.private["blob"]["container"])
        return {"properties": {"state": PENDING}}

    async def remove(self, resource: Resource, services: Services) -> None:
        _, storage = _account(resource.id, services)
        if storage is not None:
            lies = resource.private["blob"]
            with _of_storage():
                await self._blobs.delete(storage.id.name, lies["container"], lies["name"])

    def live(self, resource: Resource, services: Services) -> Body:
        _, storage = _account(resource.id, services)
        if storage is None:
            return {}
        lies, ends = resource.private["blob"], services.clock.now() + timedelta(hours=HOURS)
        address = self._blobs.sas_url(storage.id.name, lies["container"], lies["name"], PERMISSIONS, ends)
        stamp = ends.strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"properties": {"storageUrl": address, "storageUrlExpiry": stamp}}

    @action("activate")
    async def activate(self, resource: Resource, call: Call) -> Answer:
        given = call.body.get("format")
        if not given:
            raise batch_error("MissingRequiredProperty", path="format")
        if given != FORMAT:
            raise invalid_value("format", f"The format of a package is {FORMAT}.", given)
        storage, lies = _storage(resource, call.services), resource.private["blob"]
        with _of_storage():
            uploaded = await self._blobs.exists(storage.id.name, lies["container"], lies["name"])
        if not uploaded:
            raise _not_now("Nothing was uploaded to the package's storageUrl yet.")
        now = call.services.clock.stamp()
        resource.service = {"properties": {"state": ACTIVE, "format": FORMAT, "lastActivationTime": now}}
        resource.changed_at = now
        call.services.store.put(resource)
        return Answer(body=answers.document(self, resource, call.services))


@contextmanager
def _of_storage() -> Iterator[None]:
    """What blob storage refuses is refused by ARM."""
    try:
        yield
    except BlobError as error:
        raise as_arm(error) from error


def _not_now(reason: str) -> ArmError:
    return batch_error("OperationInvalidForCurrentState", reason)


def _account(package: ArmId, services: Services) -> tuple[Resource | None, Resource | None]:
    """The account of a package, and the storage account that is linked to it."""
    account = services.store.get(package.scope.rsplit("/", 2)[0])
    return account, storage_of(account, services) if account else None


def _storage(package: Resource, services: Services) -> Resource:
    _, storage = _account(package.id, services)
    if storage is None:
        raise _not_now("Packages require a storage account that is linked to this Batch account.")
    return storage


def _place(package: Resource) -> Body:
    application = package.id.scope.rsplit("/", 1)[1].lower()
    digest = hashlib.sha256(package.id.scope.lower().encode()).hexdigest()[:10]
    letters = "-".join(part for part in application.replace("_", "-").split("-") if part)
    return {"container": f"app-{letters}"[:50].rstrip("-") + f"-{digest}", "name": f"{package.id.name}-{uuid.uuid4()}"}


def _may_write(account: Resource | None, storage: Resource, blobs: Blobs) -> bool:
    """An account that signs on by its identity needs a role on the storage account before it can hand out addresses."""
    if account is None or account.properties["autoStorage"].get("authenticationMode") != BY_IDENTITY:
        return True
    attached = (account.body.get("identity") or {}).get("userAssignedIdentities") or {}
    return not attached or any(blobs.may(identity, storage.id.name, write=True) for identity in attached)
