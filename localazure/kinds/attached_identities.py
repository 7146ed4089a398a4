"""Managed identities of a resource: attached ones have to exist, and a system-assigned one gets a principal.

Shared by the kinds whose resources run something.
"""

import uuid

from azure_gpu.formats import azure_types
from localazure.arm.errors import refused
from localazure.arm.kind import Change
from localazure.arm.store import Body, Resource
from localazure.services import Services


def check(change: Change) -> None:
    """ArmError 400 for an attached identity that doesn't exist."""
    for identity_id in (change.body.get("identity") or {}).get("userAssignedIdentities") or {}:
        if principal_of(identity_id, change.services) is None:
            raise refused("no identity", id=change.id.text, identity=identity_id)


def own(resource: Resource, services: Services) -> Body:
    """What the service sets: the principal of an identity of the resource's own, which it keeps over updates."""
    if "SystemAssigned" not in (resource.body.get("identity") or {}).get("type", ""):
        return {}
    before = resource.service.get("identity") or {}
    return {"identity": {"principalId": str(uuid.uuid4()), "tenantId": services.settings.tenant_id, **before}}


def shown(body: Body, services: Services) -> Body:
    """`body` with the ids of the attached identities; nothing for one that was deleted since, or for one that was taken away."""
    identity = body.get("identity") or {}
    if "SystemAssigned" not in identity.get("type", "") and "principalId" in identity:
        own = ("principalId", "tenantId")
        body = {**body, "identity": {name: value for name, value in identity.items() if name not in own}}
    attached = identity.get("userAssignedIdentities")
    if not attached:
        return body
    found = {identity_id: ids_of(identity_id, services) for identity_id in attached}
    ids = {
        each: {"principalId": principal, "clientId": client} if principal else {} for each, (principal, client) in found.items()
    }
    return {**body, "identity": {**body["identity"], "userAssignedIdentities": ids}}


def is_attached(body: Body, identity_id: str) -> bool:
    attached = (body.get("identity") or {}).get("userAssignedIdentities") or {}
    return identity_id.lower() in {one.lower() for one in attached}


def principal_of(identity_id: str, services: Services) -> str | None:
    """The principal of a user-assigned identity; None where there is none of this id."""
    return ids_of(identity_id, services)[0] or None


def ids_of(identity_id: str, services: Services) -> tuple[str, str]:
    """(principal, client id) of a user-assigned identity; empty where there is none of this id."""
    identity = services.store.at(identity_id, azure_types.USER_ASSIGNED_IDENTITY)
    properties = identity.service["properties"] if identity is not None else {"principalId": "", "clientId": ""}
    return properties["principalId"], properties["clientId"]
