"""Which devices a node offers under which names, by the plugin's configuration: whole GPUs, MIG instances, replicas of either.

The result has ids by resource. A replica's id is its device's with `::` and a number. Pure.
"""

from collections.abc import Sequence

from azure_gpu.catalog.services.aks.device_plugin import GPU_RESOURCE, MIG_PREFIX
from azure_gpu.catalog.services.aks.mig import MIXED, SINGLE
from localazure.kubernetes.infrastructure.plugin_config import MPS, PluginConfig
from localazure.kubernetes.node_gpus import NodeGpu

ANNOTATION = "::"


class DeviceMapError(Exception):
    """The GPUs can't be offered like that; the text is what the plugin says."""


def device_map(gpus: Sequence[NodeGpu], config: PluginConfig) -> dict[str, list[str]]:
    """By resource the ids of what is offered. DeviceMapError."""
    found: dict[str, list[str]] = {}
    for gpu in gpus:
        if gpu.instances and config.mig_strategy != "none":
            for one in gpu.instances:
                name = GPU_RESOURCE if config.mig_strategy == SINGLE else f"{MIG_PREFIX}{one.profile}"
                found.setdefault(name, []).append(one.uuid)
        else:
            found.setdefault(GPU_RESOURCE, []).append(gpu.uuid)
    if config.mig_strategy == SINGLE and any(gpu.instances for gpu in gpus) and not all(gpu.instances for gpu in gpus):
        raise DeviceMapError("all devices on the node must be configured with the same migEnabled value")
    if config.strategy == MPS and config.mig_strategy in (SINGLE, MIXED) and any(gpu.instances for gpu in gpus):
        raise DeviceMapError("sharing using MPS is not supported for MIG devices")
    shared: dict[str, list[str]] = {}
    for name, ids in found.items():
        sharing = config.of(name)
        if sharing is None:
            shared.setdefault(name, []).extend(ids)
            continue
        replicas = [f"{one}{ANNOTATION}{number}" for one in ids for number in range(sharing.replicas)]
        shared.setdefault(sharing.rename or name, []).extend(replicas)
    return shared


def device_of(device_id: str) -> str:
    """The GPU or instance of a replica, or itself."""
    return device_id.partition(ANNOTATION)[0]


def spread(available: Sequence[str], offered: Sequence[str], size: int) -> list[str]:
    """`size` of those that are free, each from the device of which the fewest are taken."""
    free: dict[str, list[str]] = {}
    for one in available:
        free.setdefault(device_of(one), []).append(one)
    taken = {device: sum(1 for one in offered if device_of(one) == device) - len(free[device]) for device in free}
    chosen: list[str] = []
    for _ in range(size):
        device = min((one for one in free if free[one]), key=lambda one: (taken[one], list(free).index(one)))
        chosen.append(free[device].pop(0))
        taken[device] += 1
    return chosen
