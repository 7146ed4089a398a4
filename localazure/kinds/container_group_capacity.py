"""Checks a region's capacity and the subscription's quota for a container group. Both are unlimited unless a fault limits them.

Sentences of the service were read in MicrosoftDocs/azure-docs issues 48142 and 51860 (no capacity) and 51738 (quota). The code
ContainerGroupQuotaReached is an older one: Microsoft's troubleshooting page of 2024 shows ServiceUnavailable with that sentence.
"""

from collections.abc import Mapping, Sequence

from azure_gpu.catalog.services.container_instances import GPU_SKUS, GroupRequest
from azure_gpu.formats import azure_types
from localazure.arm.errors import ArmError, conflict
from localazure.arm.kind import Change
from localazure.arm.store import Body, Store
from localazure.lists.deviations import Deviations

GROUPS, CORES = "ContainerGroups", "StandardCores"
GPU_CORES: Mapping[str, str] = {name: f"Standard{name}Cores" for name in GPU_SKUS}
QUOTAS = (GROUPS, CORES, *GPU_CORES.values())
SERVICE = "aci"  # as faults name it
_UNLIMITED = -1


def unavailable(request: GroupRequest, details: Sequence[ArmError] = (), target: str = "") -> ArmError:
    """The service's refusal of a group that a region has no machine for, whatever the reason."""
    cpu = sum(container.cpu for container in request.containers)
    memory_gb = sum(container.memory_gb for container in request.containers)
    gpus = "".join(f" '{one.gpu_count}' '{one.gpu_sku}' GPU" for one in request.containers if one.gpu_count is not None)
    message = (
        f"The requested resource is not available in the location '{request.location}' at this moment. Please retry with a "
        f"different resource request or in another location. Resource requested: '{cpu:g}' CPU '{memory_gb:g}' GB memory "
        f"'{request.os_type}' OS{gpus}"
    )
    return ArmError(409, "ServiceUnavailable", message, target=target, details=details)


def check(change: Change, request: GroupRequest) -> None:
    """ArmError 409 where a fault has taken the capacity or the quota. A group that is there already has both."""
    if change.previous is not None:
        return
    deviations = change.services.deviations
    if deviations.lacks_capacity(request.location):
        raise unavailable(request)
    for name, requested in _asked(change.body).items():
        limit, used = usage(name, request.location, change.services.store, deviations)
        if limit != _UNLIMITED and used + requested > limit:
            raise conflict(
                f"Resource type '{azure_types.CONTAINER_GROUP.arm_type}' container group quota '{name}' exceeded in region "
                f"'{request.location}'. Limit: '{limit}', Usage: '{used:g}' Requested: '{requested:g}'.",
                "ContainerGroupQuotaReached",
            )


def usage(name: str, region: str, store: Store, deviations: Deviations, default: int = _UNLIMITED) -> tuple[int, float]:
    """Limit and use of one quota in a region: what the groups there ask for, and what a fault says is used besides."""
    limit, used = deviations.quota(SERVICE, region, name, default)
    groups = store.of_type(azure_types.CONTAINER_GROUP.arm_type)
    return limit, used + sum(_asked(group.body).get(name, 0) for group in groups if group.location == region)


def _asked(body: Body) -> dict[str, float]:
    """What one group takes of each quota. The cores of a group with GPUs count by their SKU."""
    requests = [container["properties"]["resources"]["requests"] for container in body["properties"]["containers"]]
    sku = next((one["gpu"]["sku"] for one in requests if one.get("gpu")), "")
    return {GROUPS: 1, GPU_CORES.get(sku, CORES): sum(one["cpu"] for one in requests)}
