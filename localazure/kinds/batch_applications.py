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
from localazure.arm import answers
from localazure.arm.errors import ArmError
from localazure.arm.kind import Answer, Call, Change, Kind, action
from localazure.arm.store import Body, Resource
from localazure.blobs.errors import BlobError
from localazure.blobs.service import Blobs
from localazure.kinds.batch_account_rules import BY_IDENTITY, storage_of
from localazure.kinds.batch_packages import ACTIVE, FORMAT, PENDING
from localazure.kinds.batch_refusals import invalid_state, invalid_value, missing, refusal
from localazure.kinds.blob_containers import as_arm
from localazure.services import Services

PERMISSIONS = "rw"
HOURS = 4  # how long the address of a package holds


class BatchApplications(Kind):
    azure_type = azure_types.BATCH_APPLICATION

    def invalid_name(self, name: str, allowed: str) -> ArmError:
        return invalid_value("applicationName", f"An application's name takes {allowed}.", name)

    def check_removal(self, resource: Resource, services: Services) -> None:
        """Told of the service in Azure/BatchExplorer issue 831."""
        versions = services.store.of_type(azure_types.BATCH_APPLICATION_PACKAGE.arm_type, resource.key)
        if versions:
            names = ", ".join(version.id.name for version in versions)
            raise invalid_state(f"The application '{resource.id.name}' has packages: {names}. Delete them first.")

    def check(self, change: Change) -> None:
        properties = change.body.setdefault("properties", {})
        store = change.services.store
        if change.previous is None and len(store.of_type(self.arm_type, change.id.scope)) >= MOST_OF_ACCOUNT:
            raise refusal(409, "ApplicationQuotaReached", f"A Batch account has at most {MOST_OF_ACCOUNT} applications.")
        default = properties.get("defaultVersion")
        there = change.services.settings.nothing_runs or store.get(f"{change.id.key}/versions/{default}") is not None
        if default and not there:
            # azure-mgmt-batch 19.0.0, ApplicationProperties.default_version: the name of an existing package alone
            reason = f"The application '{change.id.name}' has no version '{default}'."
            raise refusal(404, "ApplicationPackageNotFound", "The specified application package does not exist.", Reason=reason)


class BatchApplicationPackages(Kind):
    azure_type = azure_types.BATCH_APPLICATION_PACKAGE

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def invalid_name(self, name: str, allowed: str) -> ArmError:
        return invalid_value("versionName", f"A version takes {allowed}.", name)

    def check(self, change: Change) -> None:
        application = change.services.store.get(change.id.scope)
        account = change.services.store.get(application.id.scope) if application else None
        if application is None or account is None:
            raise ValueError("a package is changed below its application")
        storage = storage_of(account, change.services)
        if storage is None:
            raise invalid_state("Packages require a storage account that is linked to this Batch account.")
        if change.previous is not None and not application.properties.get("allowUpdates", True):
            reason = f"The application '{application.id.name}' lets no version be overwritten."
            raise refusal(
                409, "ApplicationPackageAlreadyExists", "The specified application package already exists.", Reason=reason
            )
        versions = change.services.store.of_type(self.arm_type, application.key)
        if change.previous is None and len(versions) >= MOST_OF_APPLICATION:
            raise refusal(409, "ApplicationPackageQuotaReached", f"An application has at most {MOST_OF_APPLICATION} packages.")
        _check_access(account, storage, self._blobs)

    async def provision(self, change: Change) -> Body:
        resource = change.stored
        storage = _storage(resource, change.services)
        if "blob" not in resource.private:
            resource.private["blob"] = _place(resource)
        with _of_storage():
            await self._blobs.ensure_container(storage.id.name, resource.private["blob"]["container"])
        return {"properties": {"state": PENDING}}

    async def remove(self, resource: Resource, services: Services) -> None:
        account = services.store.get(resource.id.scope.rsplit("/", 2)[0])
        storage = storage_of(account, services) if account else None
        if storage is not None:
            lies = resource.private["blob"]
            with _of_storage():
                await self._blobs.delete(storage.id.name, lies["container"], lies["name"])

    def live(self, resource: Resource, services: Services) -> Body:
        account = services.store.get(resource.id.scope.rsplit("/", 2)[0])
        storage = storage_of(account, services) if account else None
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
            raise missing("format")
        if given != FORMAT:
            raise invalid_value("format", f"The format of a package is {FORMAT}.", given)
        storage, lies = _storage(resource, call.services), resource.private["blob"]
        with _of_storage():
            uploaded = await self._blobs.exists(storage.id.name, lies["container"], lies["name"])
        if not uploaded:
            raise invalid_state("Nothing was uploaded to the package's storageUrl yet.")
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


def _storage(package: Resource, services: Services) -> Resource:
    account = services.store.get(package.id.scope.rsplit("/", 2)[0])
    storage = storage_of(account, services) if account else None
    if storage is None:
        raise invalid_state("Packages require a storage account that is linked to this Batch account.")
    return storage


def _place(package: Resource) -> Body:
    application = package.id.scope.rsplit("/", 1)[1].lower()
    digest = hashlib.sha256(package.id.scope.lower().encode()).hexdigest()[:10]
    letters = "-".join(part for part in application.replace("_", "-").split("-") if part)
    return {"container": f"app-{letters}"[:50].rstrip("-") + f"-{digest}", "name": f"{package.id.name}-{uuid.uuid4()}"}


def _check_access(account: Resource, storage: Resource, blobs: Blobs) -> None:
    """An account that signs on by its identity needs a role on the storage account before it can hand out addresses."""
    linked = account.properties["autoStorage"]
    if linked.get("authenticationMode") != BY_IDENTITY:
        return
    attached = (account.body.get("identity") or {}).get("userAssignedIdentities") or {}
    if attached and not any(blobs.may(identity, storage.id.name, write=True) for identity in attached):
        reason = (
            f"The identity of the Batch account has no role that lets it write blobs of the storage account '{storage.id.name}'."
        )
        raise refusal(
            403, "AutoStorageAuthenticationFailed", "The linked storage account refused the Batch account.", Reason=reason
        )
