"""Enforces management locks as ARM does: a locked scope and everything below it can't be deleted, nor, by ReadOnly, changed.

Sentence: Azure/azure-cli issue 2688 (2017-03-30); code: Azure/azure-cli issue 28242 (2024-01-24); that locks are inherited, and
that a parent with a locked child isn't deleted: Microsoft Learn, azure-resource-manager/management/lock-resources. The status
is assumed. Actions (POST) are answered whatever is locked.
"""

from collections.abc import Iterator
from typing import Literal

from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.azure_types import MANAGEMENT_LOCK
from localazure.arm.errors import arm_error
from localazure.arm.store import Store

READ_ONLY, CAN_NOT_DELETE = "ReadOnly", "CanNotDelete"
Operation = Literal["write", "delete"]


def check(operation: Operation, resource_id: ArmId, store: Store) -> None:
    """ArmError where a lock forbids it. Locks themselves aren't locked."""
    if resource_id.is_type(MANAGEMENT_LOCK.arm_type):
        return
    scopes = sorted(set(_locked(operation, resource_id.key, store)))
    if scopes:
        named = ",".join(f"'{each}'" for each in scopes)
        raise arm_error("ScopeLocked", scope=resource_id.text, operation=operation, locked=named)


def _locked(operation: Operation, key: str, store: Store) -> Iterator[str]:
    levels = (READ_ONLY,) if operation == "write" else (READ_ONLY, CAN_NOT_DELETE)
    for lock in store.of_type(MANAGEMENT_LOCK.arm_type):
        scope = lock.id.scope.lower()
        inherited = key == scope or key.startswith(f"{scope}/")
        taken_along = operation == "delete" and scope.startswith(f"{key}/")
        if lock.properties.get("level") in levels and (inherited or taken_along):
            yield lock.id.scope
