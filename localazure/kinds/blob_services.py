"""The blob service of a storage account, as ARM sees it: what it keeps of deleted and overwritten blobs.

There with its account, and never deleted. Settings are kept and shown; none has an effect: a deleted blob is gone. That a body
without settings puts all of them back is assumed.
Sources: the recorded answers of Microsoft.Storage 2025-06-01 for the service of a new account; Microsoft Learn, REST reference of
"Blob Services - Set Service Properties" 2024-01-01, for the limits.
"""

from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from localazure.arm.errors import ArmError
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource, Store
from localazure.kinds.storage_services import LATER_VERSIONS, sku_of_account
from localazure.services import Services

NAME = "default"


class BlobServices(Kind):
    """Changed at once."""

    azure_type = azure_types.BLOB_SERVICE
    delete_without_group = "ParentResourceNotFound"
    parent_type = azure_types.STORAGE_ACCOUNT.arm_type
    location = "none"
    shows_state = False
    patchable = False
    created_status = 200  # it was there
    extra_api_versions = LATER_VERSIONS

    def implied(self, resource_id: ArmId, store: Store) -> Resource | None:
        account = store.get(self.parent_id(resource_id))
        if account is None or resource_id.name.lower() != NAME:
            return None
        found = arm_ids.parse(f"{account.id.text}/blobServices/{NAME}")
        assert found is not None
        return Resource(id=found, body=_defaults())

    def listed(self, scope: str, conditions: str, services: Services) -> list[Resource]:
        changed = super().listed(scope, conditions, services)
        named = arm_ids.parse(f"{scope}/blobServices/{NAME}")
        implied = self.implied(named, services.store) if named is not None else None
        return changed or ([implied] if implied is not None else [])

    def check_removal(self, resource: Resource, services: Services) -> None:  # noqa: ARG002
        raise ArmError(405, "MethodNotAllowed", "The blob service of a storage account can't be deleted.")

    def defaults(self, change: Change) -> Body:  # noqa: ARG002
        return _defaults()

    def view(self, resource: Resource, services: Services) -> Body:
        return {**super().view(resource, services), **sku_of_account(resource, services)}


def _defaults() -> Body:
    return {
        "properties": {
            "cors": {"corsRules": []},
            "deleteRetentionPolicy": {"allowPermanentDelete": False, "enabled": False},
            "staticWebsite": {"enabled": False},
        }
    }
