"""What Container Instances tells of a region: quotas with their use, the sizes of groups, and images that start faster.

Default limits: Microsoft Learn, container-instances-resource-and-quota-limits, 2025-11-17 (groups and cores); of GPUs none, which
a support request raises. They are told and not enforced, unless a fault sets one. Forms: azure-mgmt-containerinstance 10.1.0.
"""

from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.services.container_instances import GPU_SKUS, WITHOUT_GPU
from localazure.arm.store import Body
from localazure.kinds import container_group_capacity as capacity
from localazure.lists.asked import Asked

DEFAULT_LIMITS = {capacity.GROUPS: 100, capacity.CORES: 100}
_TITLES = {capacity.GROUPS: "Container Groups", capacity.CORES: "Standard Cores"}


def usages(asked: Asked) -> list[Body]:
    if asked.store is None:
        return []
    found: list[Body] = []
    for name in capacity.QUOTAS:
        limit, used = capacity.usage(name, asked.region, asked.store, asked.deviations, DEFAULT_LIMITS.get(name, 0))
        found.append(
            {
                "id": asked.resource(f"providers/Microsoft.ContainerInstance/locations/{asked.region}/usages/{name}"),
                "unit": "Count",
                "currentValue": int(used),
                "limit": limit,
                "name": {"value": name, "localizedValue": _TITLES.get(name, name)},
            }
        )
    return found


def capabilities(asked: Asked) -> list[Body]:
    """What a Linux group can have, without a GPU and with each SKU that is there at the date."""
    found = [_capability(asked, address, "None", WITHOUT_GPU.cpu, WITHOUT_GPU.memory_gb, 0) for address in ("Public", "Private")]
    for sku in GPU_SKUS.values():
        if asked.region in sku.regions and sku.lifecycle.status(asked.as_of) is not Status.RETIRED:
            count = max(sku.limits)
            found.append(_capability(asked, "Public", sku.name, sku.limits[count].cpu, sku.limits[count].memory_gb, count))
    return found


def cached_images(asked: Asked) -> list[Body]:  # noqa: ARG001
    """None: images are those that registries of the embedded Azure have built."""
    return []


def _capability(asked: Asked, address: str, gpu: str, cpu: float, memory_gb: float, gpus: int) -> Body:
    return {
        "resourceType": "containerGroups",
        "osType": "Linux",
        "location": asked.region,
        "ipAddressType": address,
        "gpu": gpu,
        "capabilities": {"maxMemoryInGB": memory_gb, "maxCpu": cpu, "maxGpuCount": gpus},
    }
