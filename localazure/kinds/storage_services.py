"""Queues, tables, file shares and lifecycle rules of a storage account, as ARM sees them: kept and shown. Nobody serves what lies
in a queue or a table, and no rule deletes a blob; a share is a folder for containers, whether or not it was made here.

Statuses and what the services fill in: Test_Storage_StorageAccount_20250601_CRUD (2026-01-13).
"""

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from localazure.arm.errors import ArmError
from localazure.arm.kind import Change, Kind, merged
from localazure.arm.store import Body, Resource, Store
from localazure.kinds import undeclared
from localazure.services import Services

DEFAULT = "default"
LATER_VERSIONS = frozenset({"2025-06-01", "2025-08-01", "2026-04-01", "2026-09-01"})
_GIB_OF_A_SHARE = 102400


class _OfAccount(Kind):
    """There with its account, or made below it at once."""

    parent_type = azure_types.STORAGE_ACCOUNT.arm_type
    location = "none"
    shows_state = False
    created_status = 200
    extra_api_versions = LATER_VERSIONS

    def listed(self, scope: str, conditions: str, services: Services) -> list[Resource]:
        return super().listed(scope.removesuffix(self.between), conditions, services)


class _Service(_OfAccount):
    """The queue, table or file service: one for each account, called default."""

    patchable = False
    delete_without_group = "ParentResourceNotFound"
    settings: Mapping[str, Body] = MappingProxyType({"cors": {"corsRules": []}})

    def implied(self, resource_id: ArmId, store: Store) -> Resource | None:
        account = store.get(self.parent_id(resource_id))
        named = arm_ids.parse(f"{account.id.text}/{self.arm_type.rsplit('/', 1)[1]}/{DEFAULT}") if account else None
        if named is None or resource_id.name.lower() != DEFAULT:
            return None
        return Resource(id=named, body={"properties": dict(self.settings)})

    def listed(self, scope: str, conditions: str, services: Services) -> list[Resource]:
        changed = super().listed(scope, conditions, services)
        named = arm_ids.parse(f"{scope}/{self.arm_type.rsplit('/', 1)[1]}/{DEFAULT}")
        implied = self.implied(named, services.store) if named is not None else None
        return changed or ([implied] if implied is not None else [])

    def check(self, change: Change) -> None:
        if change.id.name.lower() != DEFAULT:
            raise ArmError(404, "ResourceNotFound", f"There is no service '{change.id.name}'; an account has '{DEFAULT}' only.")

    def check_removal(self, resource: Resource, services: Services) -> None:  # noqa: ARG002
        raise ArmError(405, "MethodNotAllowed", "A service of a storage account can't be deleted.")

    def defaults(self, change: Change) -> Body:  # noqa: ARG002
        return {"properties": dict(self.settings)}


class QueueServices(_Service):
    azure_type = undeclared.QUEUE_SERVICE

    def view(self, resource: Resource, services: Services) -> Body:
        logging = {"version": "1.0", "delete": False, "read": False, "write": False, "retentionPolicy": {"enabled": False}}
        return merged({"properties": {"logging": logging}}, super().view(resource, services))


class TableServices(_Service):
    azure_type = undeclared.TABLE_SERVICE


class FileServices(_Service):
    azure_type = undeclared.FILE_SERVICE
    settings = MappingProxyType(
        {
            "protocolSettings": {"smb": {}},
            "cors": {"corsRules": []},
            "shareDeleteRetentionPolicy": {"enabled": True, "days": 7},
        }
    )

    def view(self, resource: Resource, services: Services) -> Body:
        return {**super().view(resource, services), **sku_of_account(resource, services)}


class Queues(_OfAccount):
    azure_type = undeclared.QUEUE
    between = f"/queueServices/{DEFAULT}"
    deleted_status = 204

    def defaults(self, change: Change) -> Body:  # noqa: ARG002
        return {"properties": {"metadata": {}}}

    def view(self, resource: Resource, services: Services) -> Body:
        body = super().view(resource, services)
        return {**body, "properties": {**body["properties"], "approximateMessageCount": 0}}


class Tables(_OfAccount):
    azure_type = undeclared.TABLE
    between = f"/tableServices/{DEFAULT}"
    deleted_status = 204

    def defaults(self, change: Change) -> Body:
        return {"properties": {"tableName": change.id.name, "signedIdentifiers": []}}


class FileShares(_OfAccount):
    azure_type = undeclared.FILE_SHARE
    between = f"/fileServices/{DEFAULT}"
    created_status = 201

    def defaults(self, change: Change) -> Body:  # noqa: ARG002
        return {
            "properties": {"accessTier": "TransactionOptimized", "shareQuota": _GIB_OF_A_SHARE, "signedIdentifiers": []},
        }

    async def provision(self, change: Change) -> Body:
        now = change.services.clock.stamp()
        tier = {} if change.previous else {"accessTierChangeTime": now}
        return {"properties": {**tier, "lastModifiedTime": now, "leaseState": "available", "leaseStatus": "unlocked"}}

    def view(self, resource: Resource, services: Services) -> Body:
        return {**super().view(resource, services), "etag": etag(resource)}


class ManagementPolicies(_OfAccount):
    """One for each account; it answers with its own name."""

    azure_type = undeclared.MANAGEMENT_POLICY
    patchable = False

    def check(self, change: Change) -> None:
        if change.id.name.lower() != DEFAULT:
            message = f"The management policy of an account is called '{DEFAULT}', and not '{change.id.name}'."
            raise ArmError(400, "InvalidResourceName", message, target="name")

    async def provision(self, change: Change) -> Body:
        return {"properties": {"lastModifiedTime": change.services.clock.stamp()}}

    def view(self, resource: Resource, services: Services) -> Body:
        return {"name": "DefaultManagementPolicy", **_with_floats(super().view(resource, services))}


def sku_of_account(resource: Resource, services: Services) -> Body:
    """The sku that a service of an account shows: its account's."""
    account = services.store.get(resource.id.scope)
    return {} if account is None else {"sku": {**account.service.get("sku", {}), "name": account.body["sku"]["name"]}}


def _with_floats(value: Any) -> Any:
    """Days, as the service writes them."""
    if isinstance(value, dict):
        return {name: _with_floats(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_floats(each) for each in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def etag(resource: Resource) -> str:
    """As the storage service writes it."""
    return f'"0x{hashlib.sha256((resource.key + resource.changed_at).encode()).hexdigest()[:15].upper()}"'
