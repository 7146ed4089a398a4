"""Application packages of a Batch account, as pools refer to them and as nodes fetch them.

ArmError 409 InvalidApplicationPackageReferences where the application or version is missing or inactive, or where no version is
named and there is no default (Microsoft Learn, dotnet/api, BatchErrorCodeStrings).
"""

from collections.abc import Sequence
from typing import NamedTuple

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.errors import ArmError
from localazure.arm.store import Body, Resource
from localazure.kinds.batch_account_rules import storage_of
from localazure.kinds.batch_refusals import batch_error
from localazure.services import Services

ACTIVE, PENDING = "Active", "Pending"
FORMAT = "zip"  # the one that there is


class PackageSource(NamedTuple):
    """A package that is active: a zip file in the linked storage account."""

    application: str
    version: str
    account_name: str
    container: str
    blob: str


def source(account_key: str, application: str, version: str, services: Services) -> PackageSource | None:
    """The package of an application; without a version its default one. None where it doesn't exist or isn't active."""
    account = services.store.get(account_key)
    app = services.store.get(f"{account_key}/applications/{application}")
    chosen = version or (app.properties.get("defaultVersion") if app else None)
    package = services.store.get(f"{account_key}/applications/{application}/versions/{chosen}") if chosen else None
    storage = storage_of(account, services) if account else None
    if app is None or package is None or storage is None or state_of(package) != ACTIVE:
        return None
    lies = package.private["blob"]
    return PackageSource(app.id.name, package.id.name, storage.id.name, lies["container"], lies["name"])


def state_of(package: Resource) -> str:
    return str(package.service.get("properties", {}).get("state", PENDING))


def check(references: Sequence[Body], account: Resource, services: Services) -> None:
    """What a pool refers to."""
    for index, reference in enumerate(references):
        named = referred(reference, account)
        if named is None:
            raise _unsatisfied(index, f"'{reference['id']}' is not the id of an application of this Batch account.")
        application, version = named
        if services.settings.nothing_runs and services.store.get(f"{account.key}/applications/{application}") is not None:
            continue  # packages are uploaded beside what is declared, and no node fetches one
        if source(account.key, application, version, services) is None:
            raise _unsatisfied(index, _why(account, application, version, services))


def referred(reference: Body, account: Resource) -> tuple[str, str] | None:
    """Application and version that a reference names; "" is the default version. None where it isn't of this account."""
    parsed = parse(reference["id"])
    if parsed is None or not parsed.key.startswith(f"{account.key}/applications/"):
        return None
    if parsed.is_type(azure_types.BATCH_APPLICATION_PACKAGE.arm_type):
        return parsed.scope.rsplit("/", 1)[1], parsed.name
    if parsed.is_type(azure_types.BATCH_APPLICATION.arm_type):
        return parsed.name, reference.get("version") or ""
    return None


def _why(account: Resource, application: str, version: str, services: Services) -> str:
    app = services.store.get(f"{account.key}/applications/{application}")
    if app is None:
        return f"The Batch account has no application '{application}'."
    if not version and not app.properties.get("defaultVersion"):
        return f"The reference names no version of '{application}', which has no default version."
    chosen = version or app.properties["defaultVersion"]
    if services.store.get(f"{app.key}/versions/{chosen}") is None:
        return f"The application '{application}' has no version '{chosen}'."
    if storage_of(account, services) is None:
        return "No storage account is linked to the Batch account, or it is gone."
    return f"The version '{chosen}' of the application '{application}' isn't active: upload the package and activate it."


def _unsatisfied(index: int, reason: str) -> ArmError:
    return batch_error("InvalidApplicationPackageReferences", reason, f"properties.applicationPackages[{index}]")
