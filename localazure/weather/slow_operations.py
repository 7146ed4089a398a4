"""Minimum durations of operations that are quick here, so that others meet them while they run."""

from azure_gpu.formats import azure_types
from localazure.services import Services
from localazure.weather.parts import NETWORK_CONFLICTS, SLOW_OPERATIONS

_SLOW = {
    kind.arm_type: SLOW_OPERATIONS
    for kind in (
        azure_types.MANAGED_CLUSTER,
        azure_types.AGENT_POOL,
        azure_types.MANAGED_ENVIRONMENT,
        azure_types.ML_ONLINE_ENDPOINT,
        azure_types.ML_ONLINE_DEPLOYMENT,
        azure_types.PRIVATE_LINK_SCOPED_RESOURCE,
        azure_types.PRIVATE_ZONE_LINK,
        azure_types.RESOURCE_GROUP,
    )
} | {
    kind.arm_type: NETWORK_CONFLICTS
    for kind in (
        azure_types.VIRTUAL_NETWORK,
        azure_types.SUBNET,
        azure_types.PUBLIC_IP_ADDRESS,
        azure_types.NETWORK_SECURITY_GROUP,
    )
}


async def begin(arm_type: str, services: Services) -> None:
    """Lets time pass before the work of an operation; it is in progress meanwhile."""
    seconds = services.weather.seconds(_SLOW.get(arm_type, ""))
    if seconds:
        await services.clock.sleep(seconds)
