"""Key vaults as ARM sees them: who may, from where, and what stays of one that was deleted. Its secrets, keys and certificates
are not imitated.

A deleted vault keeps its name in all of Azure until it is purged, by hand or by time; `createMode: recover` brings it back.
"""

from azure_gpu.formats import azure_types
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.kinds.soft_deleted import Bin
from localazure.services import Services

DELETED = Bin("vaults")


class KeyVaults(Kind):
    """Created at once."""

    azure_type = azure_types.KEY_VAULT

    def check(self, change: Change) -> None:
        super().check(change)
        properties = change.body["properties"]
        properties.pop("createMode", None)
        if properties.get("enableSoftDelete") is False:
            # Test_MachineLearning_Workspaces_20240401_CRUD (2025-04-01): taken of a new one, and answered as true
            properties["enableSoftDelete"] = True

    def facts(self, change: Change) -> Body:
        remains = DELETED.find(change.id.name, change.services) if change.creating else None
        before = change.previous.properties if change.previous else {}
        here = remains is not None and remains.id.lower() == change.id.key and remains.location == change.body["location"]
        by_roles = change.properties.get("enableRbacAuthorization", before.get("enableRbacAuthorization", False))
        return {
            "remains": remains is not None,
            "elsewhere": remains is not None and not here,
            "policies_missing": change.properties.get("accessPolicies") is None and not by_roles,
            "created": change.creating,
        }

    async def provision(self, change: Change) -> Body:
        remains = DELETED.find(change.id.name, change.services) if change.creating else None
        if remains is not None and change.resource is not None:  # what it was comes back; the request's body is not looked at
            change.resource.body = remains.body
            with change.services.store.together():
                change.services.store.put(change.resource)
                DELETED.forget(change.id.name, change.services)
        return {}

    async def remove(self, resource: Resource, services: Services) -> None:
        DELETED.keep(resource.id.name, resource, resource.properties["softDeleteRetentionInDays"], services)
