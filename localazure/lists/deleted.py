"""What is deleted and still has its name: key vaults, which can be purged, and workspaces of logs.

Form: REST reference of Microsoft.KeyVault 2024-11-01, "Vaults - List Deleted", "Get Deleted" and "Purge Deleted", and of
Microsoft.OperationalInsights 2023-09-01, "Deleted Workspaces - List". That a workspace has the id that it had is assumed.
"""

import uuid
from collections.abc import Mapping

from starlette.responses import Response

from azure_gpu.catalog import regions
from azure_gpu.formats import azure_types
from localazure.arm import answers
from localazure.arm.errors import ArmError
from localazure.arm.store import Body, Operation
from localazure.kinds.key_vaults import DELETED
from localazure.kinds.soft_deleted import DeletedResource
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION
from localazure.weather import deleted_logs

_NAMESPACE = "Microsoft.KeyVault"
# This and the 202 of a purge: Test_KeyVault_WhenPurgeSpecified_PurgesSuccessfully (2023-11)
_MISSING = (
    "The specified deleted vault '{name}' does not exist. Ensure that the vault was indeed deleted and that it is in recoverable "
    "state. If soft delete was not enabled then the vault is permanently deleted. Follow this link for more information: "
    "https://go.microsoft.com/fwlink/?linkid=2149745"
)


def vaults(services: Services) -> list[Body]:
    return [_document(each) for each in DELETED.all(services)]


def vault(path: Mapping[str, str], services: Services) -> Body:
    return _document(_found(path, services))


def purge(path: Mapping[str, str], version: str, services: Services) -> Response:
    found = _found(path, services)
    if found.body["properties"].get("enablePurgeProtection"):
        raise ArmError(405, "MethodNotAllowed", "Operation 'DeletedVaultPurge' is not allowed.")
    DELETED.forget(found.name, services)
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


def workspaces(services: Services) -> list[Body]:
    return [
        {
            "id": each.id,
            "name": each.name,
            "type": azure_types.LOG_WORKSPACE.arm_type,
            "location": each.location,
            "tags": each.tags,
            "properties": {**each.body.get("properties", {}), **each.service.get("properties", {})},
        }
        for each in deleted_logs.DELETED.all(services)
    ]


def _found(path: Mapping[str, str], services: Services) -> DeletedResource:
    found = DELETED.find(path["name"], services)
    if found is None or found.location != regions.normalise(path["location"]):
        raise ArmError(404, "DeletedVaultNotFound", _MISSING.format(name=path["name"]))
    return found


def _document(remains: DeletedResource) -> Body:
    properties = remains.body["properties"]
    shown: Body = {
        "vaultId": remains.id,
        "location": remains.location,
        "tags": remains.tags,
        "deletionDate": remains.deleted_at,
        "scheduledPurgeDate": f"{remains.purged_on}T00:00:00Z",
    }
    if properties.get("enablePurgeProtection"):
        shown["purgeProtectionEnabled"] = True
    return {
        "id": f"/subscriptions/{SUBSCRIPTION}/providers/{_NAMESPACE}/locations/{remains.location}/deletedVaults/{remains.name}",
        "name": remains.name,
        "type": f"{_NAMESPACE}/deletedVaults",
        "properties": shown,
    }
