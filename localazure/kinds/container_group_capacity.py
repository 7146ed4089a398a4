"""A region's capacity and the subscription's quota for a container group. Both are unlimited unless a fault limits them."""

from collections.abc import Mapping

from azure_gpu.catalog.services.container_instances import GPU_SKUS
from azure_gpu.formats import azure_types
from localazure.arm.errors import ArmError, refused
from localazure.arm.kind import Change
from localazure.arm.store import Body, Store
from localazure.lists.deviations import Deviations

GROUPS, CORES = "ContainerGroups", "StandardCores"
GPU_CORES: Mapping[str, str] = {name: f"Standard{name}Cores" for name in GPU_SKUS}
QUOTAS = (GROUPS, CORES, *GPU_CORES.values())
SERVICE = "aci"  # as faults name it
_UNLIMITED = -1


def unavailable(body: Body) -> ArmError:
    """The service's refusal of a group that a region has no machine for."""
    return refused("group: no capacity", region=body["location"], requested=requested(body))


def requested(body: Body) -> str:
    """What a group asks for, in the service's words."""
    requests = [container["properties"]["resources"]["requests"] for container in body["properties"]["containers"]]
    cpu, memory_gb = (sum(one[name] for one in requests) for name in ("cpu", "memoryInGB"))
    gpus = "".join(f" '{one['gpu'].get('count')}' '{one['gpu'].get('sku')}' GPU" for one in requests if one.get("gpu"))
    return f"'{cpu:g}' CPU '{memory_gb:g}' GB memory '{body['properties'].get('osType')}' OS{gpus}"


def check(change: Change) -> None:
    """ArmError 409 where a fault has taken the capacity or the quota. A group that is there already has both."""
    if change.previous is not None:
        return
    deviations = change.services.deviations
    if deviations.lacks_capacity(change.body["location"]):
        raise unavailable(change.body)
    for name, amount in _asked(change.body).items():
        limit, used = usage(name, change.body["location"], change.services.store, deviations)
        if limit != _UNLIMITED and used + amount > limit:
            words = {"name": name, "region": change.body["location"]}
            raise refused("group: over quota", **words, limit=limit, used=used, requested=amount)


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
