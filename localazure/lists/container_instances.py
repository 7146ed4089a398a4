"""Microsoft.ContainerInstance in a region: quotas with their use, the sizes of groups, and images that start faster.

Default limits: Microsoft Learn, container-instances-resource-and-quota-limits, 2025-11-17 (groups and cores); of GPUs none, which
a support request raises. They are told and not enforced, unless a fault sets one. Forms: azure-mgmt-containerinstance 10.1.0.
"""

from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.services.container_instances import GPU_SKUS, WITHOUT_GPU
from localazure.arm.store import Body
from localazure.kinds import container_group_capacity as capacity
from localazure.lists.query import ListQuery

DEFAULT_LIMITS = {capacity.GROUPS: 100, capacity.CORES: 100}
_TITLES = {capacity.GROUPS: "Container Groups", capacity.CORES: "Standard Cores"}


def usages(query: ListQuery) -> list[Body]:
    if query.store is None:
        return []
    found: list[Body] = []
    for name in capacity.QUOTAS:
        limit, used = capacity.usage(name, query.region, query.store, query.deviations, DEFAULT_LIMITS.get(name, 0))
        found.append(
            {
                "id": query.resource(f"providers/Microsoft.ContainerInstance/locations/{query.region}/usages/{name}"),
                "unit": "Count",
                "currentValue": int(used),
                "limit": limit,
                "name": {"value": name, "localizedValue": _TITLES.get(name, name)},
            }
        )
    return found


def capabilities(query: ListQuery) -> list[Body]:
    """What a Linux group can have, without a GPU and with each SKU that is there at the date."""
    found = [_capability(query, address, "None", WITHOUT_GPU.cpu, WITHOUT_GPU.memory_gb, 0) for address in ("Public", "Private")]
    for sku in GPU_SKUS.values():
        if query.region in sku.regions and sku.lifecycle.status(query.as_of) is not Status.RETIRED:
            count = max(sku.limits)
            found.append(_capability(query, "Public", sku.name, sku.limits[count].cpu, sku.limits[count].memory_gb, count))
    return found


def cached_images(query: ListQuery) -> list[Body]:  # noqa: ARG001
    """None: images are those that registries of the embedded Azure have built."""
    return []


def _capability(query: ListQuery, address: str, gpu: str, cpu: float, memory_gb: float, gpus: int) -> Body:
    return {
        "resourceType": "containerGroups",
        "osType": "Linux",
        "location": query.region,
        "ipAddressType": address,
        "gpu": gpu,
        "capabilities": {"maxMemoryInGB": memory_gb, "maxCpu": cpu, "maxGpuCount": gpus},
    }
