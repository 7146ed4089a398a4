"""The three roles that an online endpoint's system-assigned identity gets automatically."""

import uuid

from azure_gpu.catalog import roles
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.store import Body, Resource
from localazure.services import Services

_NAMES = uuid.UUID("0b1f9e5e-6c52-5d39-9d5e-3a4b8f6f2c70")  # of the assignments; chosen once


def assign(identity: Body, workspace: Resource, services: Services) -> None:
    """`identity`: what the service set of an endpoint's identity."""
    principal = (identity.get("identity") or {}).get("principalId")
    if not principal or not services.weather.holds("endpoint-roles"):
        return
    properties = workspace.properties
    requested = (
        (str(properties.get("containerRegistry") or ""), roles.ACR_PULL),
        (str(properties.get("storageAccount") or ""), roles.STORAGE_BLOB_DATA_READER),
        (workspace.id.text, roles.AZUREML_METRICS_WRITER),
    )
    for scope, role in requested:
        target = services.store.get(scope) if scope else None
        if target is not None:
            _assign(target, str(principal), role, services)


def _assign(target: Resource, principal: str, role: str, services: Services) -> None:
    name = uuid.uuid5(_NAMES, f"{target.key}{principal}{role}")
    parsed = parse(f"{target.id.text}/providers/{azure_types.ROLE_ASSIGNMENT.arm_type}/{name}")
    if parsed is None or services.store.get(parsed.key) is not None:
        return
    definition = f"/subscriptions/{target.id.subscription}/providers/Microsoft.Authorization/roleDefinitions/{role}"
    now = services.clock.stamp()
    body: Body = {"properties": {"roleDefinitionId": definition, "principalId": principal, "principalType": "ServicePrincipal"}}
    told: Body = {"properties": {"scope": target.id.text, "createdOn": now, "createdBy": "", "updatedOn": now, "updatedBy": ""}}
    services.store.put(Resource(id=parsed, body=body, service=told, created_at=now, changed_at=now))
