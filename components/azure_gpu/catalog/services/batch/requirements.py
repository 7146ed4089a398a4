"""The tables of the third source document (2018-12-17): operating system and software of GPU and RDMA sizes in Batch.

The tables cover the sizes and operating systems of their day; the rules ignore others.
"""

from collections.abc import Iterator
from datetime import date
from typing import Literal, NamedTuple

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.vm_images import Distribution
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import BATCH_ARTICLE

STILL_PUBLISHED = date(2019, 6, 13)  # the last day on which the article is known to have had these tables


Capability = Literal[
    "RDMA",
    "NVIDIA Tesla GPU",
    "NVIDIA Tesla M60 GPU",
]


class Requirement(NamedTuple):
    """One row of a table. It covers the sizes it names, and all sizes of the series it names."""

    capability: Capability
    operating_system: OperatingSystem
    distributions: frozenset[Distribution]
    software: tuple[str, ...]  # any one of them, and the drivers
    drivers: str
    sizes: frozenset[str] = frozenset()
    series: frozenset[str] = frozenset()
    one_task_per_node: bool = False  # with communication between nodes

    def covers(self, size: Size) -> bool:
        return size.name in self.sizes or size.series.name in self.series


# RDMA before SR-IOV; those of the N-series have GPUs too.
RDMA_HPC_SIZES = frozenset({"Standard_H16r", "Standard_H16mr", "Standard_A8", "Standard_A9"})
RDMA_GPU_SIZES = frozenset({"Standard_NC24r", "Standard_NC24rs_v2", "Standard_NC24rs_v3", "Standard_ND24rs"})
_WINDOWS_RDMA = frozenset({Distribution.WINDOWS_2016, Distribution.WINDOWS_2012_R2, Distribution.WINDOWS_2012})
_WINDOWS_GPU = frozenset({Distribution.WINDOWS_2016, Distribution.WINDOWS_2012_R2})
_WINDOWS_MPI = ("Microsoft MPI 2012 R2 or later", "Intel MPI 5")
_CUDA_DRIVERS = "NVIDIA CUDA or CUDA Toolkit drivers"
_GRID_DRIVERS = "NVIDIA GRID drivers"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        sizes=RDMA_HPC_SIZES | RDMA_GPU_SIZES,
        capability="RDMA",
        operating_system="Linux",
        distributions=frozenset({Distribution.UBUNTU_16_04, Distribution.CENTOS_HPC_7_4}),
        software=("Intel MPI 5",),
        drivers="Linux RDMA drivers",
        one_task_per_node=True,
    ),
    Requirement(
        series=frozenset({"NC", "NCv2", "NCv3", "NDv2"}),
        capability="NVIDIA Tesla GPU",
        operating_system="Linux",
        # CentOS-HPC 7.4 is CentOS 7.4 with RDMA drivers
        distributions=frozenset(
            {Distribution.UBUNTU_16_04, Distribution.CENTOS_7_3, Distribution.CENTOS_7_4, Distribution.CENTOS_HPC_7_4}
        ),
        software=(),
        drivers=_CUDA_DRIVERS,
    ),
    Requirement(
        series=frozenset({"NV", "NVv2"}),
        capability="NVIDIA Tesla M60 GPU",
        operating_system="Linux",
        distributions=frozenset({Distribution.UBUNTU_16_04, Distribution.CENTOS_7_3}),
        software=(),
        drivers=_GRID_DRIVERS,
    ),
    Requirement(
        sizes=RDMA_HPC_SIZES | RDMA_GPU_SIZES,
        capability="RDMA",
        operating_system="Windows",
        distributions=_WINDOWS_RDMA,
        software=_WINDOWS_MPI,
        drivers="Windows RDMA drivers",
        one_task_per_node=True,
    ),
    Requirement(
        series=frozenset({"NC", "NCv2", "NCv3", "ND", "NDv2"}),
        capability="NVIDIA Tesla GPU",
        operating_system="Windows",
        distributions=_WINDOWS_GPU,
        software=(),
        drivers=_CUDA_DRIVERS,
    ),
    Requirement(
        series=frozenset({"NV", "NVv2"}),
        capability="NVIDIA Tesla M60 GPU",
        operating_system="Windows",
        distributions=_WINDOWS_GPU,
        software=(),
        drivers=_GRID_DRIVERS,
    ),
)
# Cloud Services pools are Windows with a guest operating system family; the N-series never was in them.
CLOUD_SERVICES = Requirement(
    sizes=RDMA_HPC_SIZES,
    capability="RDMA",
    operating_system="Windows",
    distributions=_WINDOWS_RDMA | {Distribution.WINDOWS_2008_R2},
    software=_WINDOWS_MPI,
    drivers="Windows RDMA drivers",
    one_task_per_node=True,
)
_KNOWN_DISTRIBUTIONS = frozenset(one for requirement in REQUIREMENTS for one in requirement.distributions)


def before_sr_iov(size: Size) -> bool:
    """Whether the size's InfiniBand is that of before SR-IOV, which other drivers and another MPI serve."""
    return size.name in RDMA_HPC_SIZES | RDMA_GPU_SIZES


def of(size: Size, operating_system: OperatingSystem, *, rdma: bool) -> tuple[Requirement, ...]:
    """The rows for this size: the one for its GPU, and with `rdma` the one for its network. Empty: the tables don't have it."""
    return tuple(
        requirement
        for requirement in REQUIREMENTS
        if requirement.operating_system == operating_system
        and requirement.covers(size)
        and (rdma or requirement.capability != "RDMA")
    )


def system_problems(size: Size, distribution: Distribution, as_of: date, path: str, *, rdma: bool) -> Iterator[Problem]:
    """The operating system against the tables: an error while the article was published, a warning later."""
    if distribution not in _KNOWN_DISTRIBUTIONS:
        return
    for requirement in of(size, distribution.operating_system, rdma=rdma):
        if distribution not in requirement.distributions:
            still = as_of <= STILL_PUBLISHED
            yield Problem(
                path=path,
                message=f"in Batch, {distribution} doesn't support the {requirement.capability} of {size.name}"
                + ("" if still else ", by the tables of 2018"),
                value=str(distribution),
                allowed=", ".join(sorted(requirement.distributions)),
                fix="choose an image with one of these",
                source=str(BATCH_ARTICLE),
                code=Code.IMPOSSIBLE if still else Code.UNKNOWN,
                severity=Severity.ERROR if still else Severity.WARNING,
            )


def cloud_services_problems(size: Size, path: str) -> Iterator[Problem]:
    """A size of the N-series in a Cloud Services pool."""
    if size.gpu is not None:
        yield refused("batch.gpu_in_cloud_services", path, size.name, allowed=", ".join(sorted(CLOUD_SERVICES.sizes)))
