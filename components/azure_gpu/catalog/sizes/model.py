"""The types of the size tables: `Gpu`, `Series`, `Size`. Memory is in GiB; `None` means unknown, never zero."""

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import Literal, NamedTuple

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.sources import Source

Vendor = Literal[
    "NVIDIA",
    "AMD",
]


class Driver(StrEnum):
    """Kinds of GPU driver, by the interface that software uses."""

    CUDA = "CUDA"  # NVIDIA, compute
    GRID = "GRID"  # NVIDIA, virtual workstation; runs CUDA programs too
    ROCM = "ROCm"  # AMD, compute
    AMD_GRAPHICS = "AMD graphics"  # AMD, virtual workstation


class MigProfile(NamedTuple):
    """A profile that partitions a GPU into instances."""

    name: str  # as NVIDIA writes it: 1g.10gb
    instances: int  # how many of them one GPU yields
    memory_gib: int  # of one instance


class Gpu(NamedTuple):
    """One GPU model, as a virtual machine sees it: half a card where Azure offers halves."""

    name: str  # what people call it, and what searches compare: T4, A100, H100
    model: str  # in full: NVIDIA A100 80GB PCIe
    vendor: Vendor
    memory_gib: int  # of one whole GPU
    architecture: str  # Kepler, Turing, Ampere, …
    source: Source
    compute_capability: str = ""  # NVIDIA's, such as 8.0; empty for other vendors
    mig: Mapping[str, MigProfile] = MappingProxyType({})  # by AKS's name for it, such as MIG1g
    mig_source: Source | None = None  # of `mig`; None if there is none


VmGeneration = Literal[
    "Gen1",
    "Gen2",
]
"""Generations of virtual machines, which an image must match."""


class Series(NamedTuple):
    """What all sizes of a series share. `generations` is empty if unknown."""

    name: str  # NCasT4_v3
    gpu: Gpu | None  # None: no GPU, or no source names it
    drivers: tuple[Driver, ...]  # that work, the usual one first; empty without a GPU
    quota_family: str  # as the service spells it; compare with `same_family`. Empty: not known
    lifecycle: Lifecycle
    sources: tuple[Source, ...]
    generations: tuple[VmGeneration, ...] = ()
    architecture: str = "x64"  # of the processor: x64 or Arm64
    windows_only: bool = False
    restricted: bool = False  # no public page offers it; a subscription has it by agreement or not at all
    successors: tuple[str, ...] = ()  # series or sizes that Azure's own guide names, in its order
    note: str = ""


class Size(NamedTuple):
    """One VM size."""

    name: str  # Standard_NC4as_T4_v3
    series: Series
    vcpus: int | None  # that the guest can use
    quota_vcpus: int | None  # that count against the quota; more than `vcpus` for constrained sizes
    memory_gib: int | None
    gpu_count: Fraction | None  # 1/6 where six machines share a GPU; 0 without one
    gpu_memory_gib: int | None  # visible to the machine, all its GPUs together
    rdma: bool  # InfiniBand
    successors: tuple[str, ...] = ()  # sizes that work instead, best first; the series' own are in `series.successors`
    own_lifecycle: Lifecycle | None = None  # where it differs from the series'
    note: str = ""

    @property
    def lifecycle(self) -> Lifecycle:
        return self.own_lifecycle or self.series.lifecycle

    @property
    def gpu(self) -> Gpu | None:
        return self.series.gpu

    @property
    def gpu_memory_each_gib(self) -> Fraction | None:
        """Memory that the machine sees per GPU, or per share of one: 80 on an eight-GPU size with 640 GiB."""
        if self.gpu_memory_gib is None or not self.gpu_count:
            return None
        return Fraction(self.gpu_memory_gib) / max(self.gpu_count, Fraction(1))


def same_family(one: str, other: str) -> bool:
    """Quota families are spelt with and without spaces, in several letter cases: `Standard NCASv3_T4 Family`."""
    return _folded(one) == _folded(other)


@cache
def _folded(family: str) -> str:
    return family.replace(" ", "").lower()
