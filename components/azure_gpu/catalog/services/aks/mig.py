"""Multi-Instance GPU (MIG) on AKS: which sizes can be partitioned, by which profile, and the names of the instances.

The number of instances per profile is in `Gpu.mig`.
"""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.aks.device_plugin import GPU_RESOURCE
from azure_gpu.catalog.sizes.model import MigProfile, Size
from azure_gpu.catalog.sources import observed, valid_from

PAGE = observed("Microsoft Learn, articles/aks/gpu-multi-instance.md", 2026, 5, 22)
_API = observed("Microsoft.ContainerService API 2021-08-01, gpuInstanceProfile", 2021, 8, 1)

PROFILES = ("MIG1g", "MIG2g", "MIG3g", "MIG4g", "MIG7g")
SINGLE = "single"  # every instance looks like a GPU
MIXED = "mixed"  # every instance has its profile's name
SEEN_BY_GPU = {"A100": _API, "H100": PAGE, "H200": PAGE}
SEEN_BY_SIZE = {  # where a source names the size
    "Standard_NC40ads_H100_v5": valid_from("Azure/AKS, CHANGELOG.md", 2025, 1, 30),
    "Standard_NC80adis_H100_v5": valid_from("Azure/AKS, CHANGELOG.md", 2026, 4, 2),
}


def check(profile: str, size: Size | None, as_of: date, path: str) -> Iterator[Problem]:
    """The problems of this MIG profile in a pool on that day. `size`: None where it isn't known."""
    if profile not in PROFILES:
        yield refused("aks.unknown_mig_profile", path, profile, allowed=", ".join(PROFILES))
    if size is not None:
        yield from size_problems(size, as_of, path, profile)


def size_problems(size: Size, as_of: date, path: str, profile: str) -> Iterator[Problem]:
    """Whether AKS partitions the GPUs of this size on that day, by any profile."""
    gpu = size.gpu
    if gpu is not None and gpu.name not in SEEN_BY_GPU and size.lifecycle.seen.day > PAGE.day:
        yield refused("aks.mig_unknown_of_size", path, profile, gpu=gpu, size=size, seen_by_gpu=", ".join(SEEN_BY_GPU))
        return
    if gpu is None or gpu.name not in SEEN_BY_GPU:
        yield refused(
            "aks.no_mig",
            path,
            profile,
            size=size,
            seen_by_gpu=", ".join(SEEN_BY_GPU),
            gpus="the GPUs" if gpu is None else "a " + gpu.name,
        )
        return
    seen = SEEN_BY_SIZE.get(size.name, SEEN_BY_GPU[gpu.name])
    yield from lifecycle.check(Lifecycle(seen=seen), f"MIG on {size.name}", as_of, path=path, value=profile)


def resource(profile: MigProfile, strategy: str) -> str:
    """What Kubernetes calls an instance: `nvidia.com/gpu` with the single strategy, else such as `nvidia.com/mig-1g.5gb`."""
    return GPU_RESOURCE if strategy == SINGLE else f"nvidia.com/mig-{profile.name}"
