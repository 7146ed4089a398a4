"""NVIDIA's DCGM exporter: its image and port, its default counters, and a check of the counters that alerts or dashboards use."""

from collections.abc import Iterable, Iterator

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.sizes.model import Gpu
from azure_gpu.catalog.sources import observed

SOURCE = observed("NVIDIA/dcgm-exporter 4.5.3-4.8.2, etc/default-counters.csv", 2026, 11, 20)

IMAGE = "nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless"  # source: deepops-1348@2026-05-28, where its manifest was read
# Source of the digest: NVIDIA/gpu-operator ce8360e8, bundle/manifests (2026-07-13).
PINNED_IMAGE = f"{IMAGE}@sha256:60d3b00ac80b4ae77f94dae2f943685605585ad9e92fdccda3154d009ae317cc"
PORT = 9400


COUNTERS = {  # of the default set, with units; not the whole of it
    "DCGM_FI_DEV_GPU_UTIL": "%",
    "DCGM_FI_DEV_MEM_COPY_UTIL": "%",
    "DCGM_FI_DEV_FB_USED": "MiB",
    "DCGM_FI_DEV_FB_FREE": "MiB",
    "DCGM_FI_DEV_POWER_USAGE": "W",
    "DCGM_FI_DEV_GPU_TEMP": "°C",
    "DCGM_FI_DEV_SM_CLOCK": "MHz",
    "DCGM_FI_DEV_XID_ERRORS": "code of the last error",
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": "share of time",
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": "share of cycles",
    "DCGM_FI_PROF_DRAM_ACTIVE": "share of cycles",
}
PROFILING = "DCGM_FI_PROF_"  # counters that begin like this need a Volta GPU or a later one
PROFILING_CAPABILITY = (7, 0)
ONLY_ON_AKS_PAGE = {  # names that AKS's page has and the default set hasn't, with what to use in their place
    "DCGM_FI_DEV_SM_UTIL": "DCGM_FI_DEV_GPU_UTIL",
    "DCGM_FI_DEV_TEMPERATURE": "DCGM_FI_DEV_GPU_TEMP",
    "DCGM_FI_DEV_MEMORY_UTIL": "DCGM_FI_DEV_MEM_COPY_UTIL",
}


def check(counters: Iterable[str], gpu: Gpu | None, path: str) -> Iterator[Problem]:
    """The problems of building on these counters. `gpu`: None if unknown."""
    for counter in counters:
        if counter in ONLY_ON_AKS_PAGE:
            yield refused(
                "dcgm.only_on_aks_page", path, counter, instead=(ONLY_ON_AKS_PAGE[counter],), other=ONLY_ON_AKS_PAGE[counter]
            )
        elif counter not in COUNTERS:
            yield refused("dcgm.unknown_counter", path, counter, allowed=", ".join(COUNTERS))
        elif counter.startswith(PROFILING) and gpu is not None and not _has_profiling(gpu):
            yield refused("dcgm.no_profiling", path, counter, instead=("DCGM_FI_DEV_GPU_UTIL",), gpu=gpu)


def _has_profiling(gpu: Gpu) -> bool:
    major, _, minor = gpu.compute_capability.partition(".")
    return major.isdigit() and minor.isdigit() and (int(major), int(minor)) >= PROFILING_CAPABILITY
