"""Management locks: kept on any scope, listed for a scope with all below it, enforced by `localazure.arm.management_locks`.

Source: Azure/azure-rest-api-specs, specification/resources/resource-manager/Microsoft.Authorization/locks/stable/2020-05-01.
Owners and filters of lists aren't imitated.
"""

from azure_gpu.formats.arm_ids import SUBSCRIPTION_TYPE, parse
from azure_gpu.formats.azure_types import MANAGEMENT_LOCK
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Resource
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTIONS


class ManagementLocks(Kind):
    """An extension of any scope: subscription, resource group or resource."""

    azure_type = MANAGEMENT_LOCK

    def check(self, change: Change) -> None:
        _check_scope(change.id.scope, change.services)
        super().check(change)

    def listed(self, scope: str, conditions: str, services: Services) -> list[Resource]:
        if conditions:
            raise not_implemented(f"$filter on the list of '{self.arm_type}'")
        _check_scope(scope, services)
        return services.store.of_type(self.arm_type, scope)


def _check_scope(text: str, services: Services) -> None:
    scope = parse(text)
    if scope is not None and scope.is_type(SUBSCRIPTION_TYPE) and scope.subscription in SUBSCRIPTIONS:
        return
    if scope is None or services.store.get(scope.key) is None:
        raise ArmError(404, "ResourceNotFound", f"The scope '{text}' of the lock was not found.")
