"""The tables of the third source document (2018-12-17): operating system and software of GPU and RDMA sizes in Batch.

The tables cover the sizes and operating systems of their day; the rules ignore others.
"""

from collections.abc import Iterator
from datetime import date
from typing import Literal, NamedTuple, get_args

from azure_gpu.catalog import tables
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.vm_images import Distribution, system_of
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.tables import Listed, Table

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


TABLE = Table(
    tables.beside(__file__, "requirements.csv"),
    {
        "capability": "RDMA before SR-IOV, or the GPU",
        "operating_system": "Linux or Windows",
        "distributions": "those that support it; CentOS-HPC 7.4 is CentOS 7.4 with RDMA drivers",
        "software": "any one of them, and the drivers",
        "drivers": "that are needed",
        "sizes": "that the row names",
        "series": "of which it covers all sizes",
        "one_task_per_node": "with communication between nodes: yes or no",
        "cloud_services": "yes: of pools in Cloud Services, Windows with a guest family; the N-series never was in them",
    },
)


def _read(*, cloud_services: bool) -> Iterator[Requirement]:
    for row in tables.read(TABLE):
        if row.yes("cloud_services") is cloud_services:
            yield Requirement(
                capability=row.one_of("capability", get_args(Capability)),
                operating_system=row.one_of("operating_system", get_args(OperatingSystem)),
                distributions=frozenset(row.several("distributions", get_args(Distribution))),
                software=row.texts("software"),
                drivers=row.filled("drivers"),
                sizes=frozenset(row.texts("sizes")),
                series=frozenset(row.texts("series")),
                one_task_per_node=row.yes("one_task_per_node"),
            )


REQUIREMENTS = Listed(lambda: _read(cloud_services=False))
CLOUD_SERVICES = Listed(lambda: _read(cloud_services=True))


def before_sr_iov(size: Size) -> bool:
    """Whether the size's InfiniBand is that of before SR-IOV, which other drivers and another MPI serve."""
    return any(size.name in each.sizes for each in REQUIREMENTS if each.capability == "RDMA")


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
    if not any(distribution in each.distributions for each in REQUIREMENTS):
        return
    for requirement in of(size, system_of(distribution), rdma=rdma):
        if distribution not in requirement.distributions:
            yield refused(
                f"batch.system_without_capability{'' if as_of <= STILL_PUBLISHED else '_in_2018'}",
                path,
                str(distribution),
                allowed=", ".join(sorted(requirement.distributions)),
                capability=requirement.capability,
                size=size,
            )


def cloud_services_problems(size: Size, path: str) -> Iterator[Problem]:
    """A size of the N-series in a Cloud Services pool."""
    if size.gpu is not None:
        yield refused("batch.gpu_in_cloud_services", path, size.name, allowed=", ".join(sorted(CLOUD_SERVICES[0].sizes)))
