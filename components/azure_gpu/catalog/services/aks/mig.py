"""Multi-Instance GPU (MIG) on AKS: which sizes can be partitioned, by which profile, and the names of the instances.

The number of instances per profile is in `Gpu.mig`.
"""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.aks.device_plugin import GPU_RESOURCE
from azure_gpu.catalog.sizes.model import MigProfile, Size
from azure_gpu.catalog.sources import Dated, Source

PAGE = Source("Microsoft Learn, articles/aks/gpu-multi-instance.md", Dated.OBSERVED, date(2026, 5, 22))
_API = Source("Microsoft.ContainerService API 2021-08-01, gpuInstanceProfile", Dated.OBSERVED, date(2021, 8, 1))

PROFILES = ("MIG1g", "MIG2g", "MIG3g", "MIG4g", "MIG7g")
SINGLE = "single"  # every instance looks like a GPU
MIXED = "mixed"  # every instance has its profile's name
SEEN_BY_GPU = {"A100": _API, "H100": PAGE, "H200": PAGE}
SEEN_BY_SIZE = {  # where a source names the size
    "Standard_NC40ads_H100_v5": Source("Azure/AKS, CHANGELOG.md", Dated.VALID_FROM, date(2025, 1, 30)),
    "Standard_NC80adis_H100_v5": Source("Azure/AKS, CHANGELOG.md", Dated.VALID_FROM, date(2026, 4, 2)),
}


def check(profile: str, size: Size | None, as_of: date, path: str) -> Iterator[Problem]:
    """The problems of this MIG profile in a pool on that day. `size`: None where it isn't known."""
    if profile not in PROFILES:
        yield Problem(
            path=path,
            message="unknown MIG profile",
            value=profile,
            allowed=", ".join(PROFILES),
            fix="write one of AKS's names: MIG1g for 1g.5gb and 1g.10gb",
            source=str(PAGE),
        )
    if size is not None:
        yield from size_problems(size, as_of, path, profile)


def size_problems(size: Size, as_of: date, path: str, profile: str) -> Iterator[Problem]:
    """Whether AKS partitions the GPUs of this size on that day, by any profile."""
    gpu = size.gpu
    if gpu is not None and gpu.name not in SEEN_BY_GPU and size.lifecycle.seen.day > PAGE.day:
        yield Problem(
            path=path,
            message=f"whether AKS partitions a {gpu.name} of {size.name} into MIG instances is not known: newer than the page",
            value=profile,
            allowed=f"sizes with {', '.join(SEEN_BY_GPU)}",
            source=str(PAGE),
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )
        return
    if gpu is None or gpu.name not in SEEN_BY_GPU:
        yield Problem(
            path=path,
            message=f"AKS can't partition {'the GPUs' if gpu is None else 'a ' + gpu.name} of {size.name} into MIG instances",
            value=profile,
            allowed=f"sizes with {', '.join(SEEN_BY_GPU)}",
            fix="leave the profile out, or share the GPU by time-slicing or MPS",
            source=str(PAGE),
            code=Code.IMPOSSIBLE,
        )
        return
    seen = SEEN_BY_SIZE.get(size.name, SEEN_BY_GPU[gpu.name])
    yield from lifecycle.check(Lifecycle(seen=seen), f"MIG on {size.name}", as_of, path=path, value=profile)


def resource(profile: MigProfile, strategy: str) -> str:
    """What Kubernetes calls an instance: `nvidia.com/gpu` with the single strategy, else such as `nvidia.com/mig-1g.5gb`."""
    return GPU_RESOURCE if strategy == SINGLE else f"nvidia.com/mig-{profile.name}"
