"""Checks a region's capacity and the subscription's quota for a further replica. Both are unlimited unless a fault limits them.

A replica that finds none waits, as the service has it wait, until its time is over. The sentence about the quota was read in
microsoft/azure-container-apps issue 1529; the names of the quotas are those of Microsoft Learn, container-apps/quota-requests.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from localazure.apps.executions import Executions
from localazure.arm.store import Body
from localazure.services import Services

SERVICE = "apps"  # as faults name it
QUOTAS: Mapping[str, str] = {
    "Consumption-GPU-NC8as-T4": "SubscriptionConsumptionT4Gpus",
    "Consumption-GPU-NC24-A100": "SubscriptionConsumptionNCA100Gpus",
}
_UNLIMITED = -1


def gpus_of(profile: str, containers: Iterable[Mapping[str, Any]]) -> int:
    """The GPUs of one replica. On a profile with a GPU the first container has it, whether it requests it or not."""
    requested = sum(int((one.get("resources") or {}).get("gpu") or 0) for one in containers)
    return requested or int(profile in QUOTAS)


def shortage(record: Body, executions: Executions, services: Services) -> str:
    """Why a further replica of an execution can't be placed now, or ""."""
    profile, region, gpus = record["profile"], record["location"], record["gpus"]
    if not gpus:
        return ""
    if services.deviations.lacks_capacity(region):
        return f"There is no capacity for the workload profile {profile} in the region {region} at the moment."
    name = QUOTAS.get(profile)
    if name is None:
        return ""
    limit, used = services.deviations.quota(SERVICE, region, name, _UNLIMITED)
    used += executions.gpus(profile, region)
    if limit == _UNLIMITED or used + gpus <= limit:
        return ""
    return (
        "Maximum Allowed Cores exceeded for the Managed Environment. Please check "
        "https://learn.microsoft.com/en-us/azure/container-apps/quotas for resource limits "
        f"(quota '{name}' in the region {region}: limit {limit}, used {used}, asked {gpus})."
    )
