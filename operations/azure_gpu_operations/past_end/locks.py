"""Management locks of Azure. A lock protects its scope and everything below it.

Source: Azure/azure-rest-api-specs, specification/resources/resource-manager/Microsoft.Authorization/locks/stable/2020-05-01, and
Microsoft Learn, azure-resource-manager/management/lock-resources.
"""

from collections.abc import Iterator
from typing import NamedTuple

from azure_gpu_operations.azure import Arm

_API_VERSION = "2020-05-01"
_PROVIDER = "/providers/microsoft.authorization/locks/"


class Lock(NamedTuple):
    """One lock."""

    name: str
    scope: str
    """The locked ARM id."""
    level: str
    """CanNotDelete, ReadOnly."""

    def keeps(self, resource_id: str) -> bool:
        """Whether it protects the resource, or something within it."""
        here, there = self.scope.lower().rstrip("/"), resource_id.lower().rstrip("/")
        return here == there or there.startswith(f"{here}/") or here.startswith(f"{there}/")

    @property
    def words(self) -> str:
        return f"the lock {self.name} ({self.level}) on {self.scope.rsplit('/', 1)[-1]}"


def of_subscription(arm: Arm, subscription_id: str) -> Iterator[Lock]:
    """Locks of the subscription, its groups and resources. AzureError if they can't be read."""
    for body in arm.values(f"/subscriptions/{subscription_id}/providers/Microsoft.Authorization/locks", _API_VERSION):
        resource_id = str(body["id"])
        at = resource_id.lower().rfind(_PROVIDER)
        level = str((body.get("properties") or {}).get("level") or "")
        if at >= 0 and level != "NotSpecified":
            yield Lock(str(body.get("name") or ""), resource_id[:at], level)
