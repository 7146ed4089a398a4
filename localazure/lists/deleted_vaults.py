"""Deleted key vaults of the subscription: their list, each by its region and name, and the purge of one.

Form: REST reference of Microsoft.KeyVault 2024-11-01, "Vaults - List Deleted", "Get Deleted" and "Purge Deleted".
"""

import uuid
from collections.abc import Sequence

from starlette.responses import Response

from azure_gpu.catalog import regions
from azure_gpu.formats import azure_types
from localazure import shapes
from localazure.arm import answers, checks
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.store import Body, Operation
from localazure.kinds.key_vaults import DELETED, KeyVaults
from localazure.kinds.soft_deleted import DeletedResource, as_instant
from localazure.services import SUBSCRIPTION, Services

_NAMESPACE = "Microsoft.KeyVault"
# This and the 202 of a purge: Test_KeyVault_WhenPurgeSpecified_PurgesSuccessfully (2023-11)
_MISSING = (
    "The specified deleted vault '{name}' does not exist. Ensure that the vault was indeed deleted and that it is in recoverable "
    "state. If soft delete was not enabled then the vault is permanently deleted. Follow this link for more information: "
    "https://go.microsoft.com/fwlink/?linkid=2149745"
)


def is_one(below: Sequence[str]) -> bool:
    """Whether a path is about deleted vaults: what follows the subscription, in lower case."""
    match list(below):
        case ["providers", namespace, "deletedvaults"] | ["providers", namespace, "locations", _, "deletedvaults", _]:
            return namespace == _NAMESPACE.lower()
        case ["providers", namespace, "locations", _, "deletedvaults", _, "purge"]:
            return namespace == _NAMESPACE.lower()
        case _:
            return False


def answered(method: str, segments: Sequence[str], version: str, services: Services) -> Response:
    """`segments` is the whole path as it was sent."""
    known = shapes.api_versions(azure_types.KEY_VAULT) | KeyVaults.extra_api_versions
    checks.listed_api_version("deletedVaults", known, version)
    below = [segment.lower() for segment in segments[2:]]
    if len(below) == 3 and method == "GET":
        return answers.listed(_document(each) for each in DELETED.all(services))
    if len(below) < 6 or (method, len(below)) not in (("GET", 6), ("POST", 7)):
        raise not_implemented(f"{method} on '/{'/'.join(segments)}'")
    region, name = regions.normalise(segments[5]), segments[7]
    found = DELETED.find(name, services)
    if found is None or found.location != region:
        raise ArmError(404, "DeletedVaultNotFound", _MISSING.format(name=name))
    if method == "GET":
        return answers.respond(200, _document(found))
    if found.body["properties"].get("enablePurgeProtection"):
        raise ArmError(405, "MethodNotAllowed", "Operation 'DeletedVaultPurge' is not allowed.")
    DELETED.forget(name, services)
    now = services.clock.stamp()
    written = f"{now[:10]} {now[11:19]}Z"  # as this service writes an instant
    purge = Operation(
        id=str(uuid.uuid4()),
        resource_key=found.id.lower(),
        resource_id=found.id,
        kind="purge",
        status="Succeeded",
        started_at=now,
        as_of=now[:10],
        ended_at=now,
        result={"createdDateTime": written, "lastActionDateTime": written, "status": "Succeeded"},
    )
    services.store.put_operation(purge)
    address = f"{services.settings.url}/subscriptions/{SUBSCRIPTION}/providers/{_NAMESPACE}/operationResults/{purge.id}"
    headers = {"Location": f"{address}?api-version={version}", "Retry-After": "1"}
    return answers.respond(202, headers=headers)


def _document(remains: DeletedResource) -> Body:
    properties = remains.body["properties"]
    shown: Body = {
        "vaultId": remains.id,
        "location": remains.location,
        "tags": remains.tags,
        "deletionDate": remains.deleted_at,
        "scheduledPurgeDate": as_instant(remains.purged_on),
    }
    if properties.get("enablePurgeProtection"):
        shown["purgeProtectionEnabled"] = True
    return {
        "id": f"/subscriptions/{SUBSCRIPTION}/providers/{_NAMESPACE}/locations/{remains.location}/deletedVaults/{remains.name}",
        "name": remains.name,
        "type": f"{_NAMESPACE}/deletedVaults",
        "properties": shown,
    }
