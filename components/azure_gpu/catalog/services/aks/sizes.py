"""The GPU series that AKS lists, with the driver that it installs and the operating systems.

On other series it installs no driver.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from enum import StrEnum
from typing import NamedTuple

from azure_gpu.catalog import sources, tables
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.sizes.model import Driver, Size
from azure_gpu.catalog.sources import Dated, Source
from azure_gpu.catalog.tables import Keyed, Row, Table

AGENT_BAKER = Source("Azure/AgentBaker, components.json and pkg/agent/baker.go", Dated.OBSERVED, date(2026, 8, 21))
NVIDIA_PAGE = Source("Microsoft Learn, articles/aks/use-nvidia-gpu.md", Dated.OBSERVED, date(2026, 7, 2))
AMD_PAGE = Source("Microsoft Learn, articles/aks/use-amd-gpus.md", Dated.OBSERVED, date(2025, 6, 4))
WINDOWS_PAGE = Source("Microsoft Learn, articles/aks/use-windows-gpu.md", Dated.OBSERVED, date(2024, 3, 18))
_GPU_PAGE_2023 = Source("Microsoft Learn, articles/aks/gpu-cluster.md", Dated.OBSERVED, date(2023, 4, 10))

INSTALL = "Install"  # the default: AKS installs the driver
NO_DRIVER = "None"


class NodeSystem(StrEnum):
    """The systems of node images, as the list of GPU sizes tells them apart."""

    UBUNTU = "Ubuntu"
    AZURE_LINUX_2 = "Azure Linux 2"
    AZURE_LINUX_3 = "Azure Linux 3"
    WINDOWS = "Windows"


class DriverImage(NamedTuple):
    """An image from which a node gets its NVIDIA driver."""

    name: str
    kind: Driver
    version: str
    supported_until: str = ""  # the branch's last month; empty: not known
    source: Source = AGENT_BAKER


CUDA_470 = DriverImage(name="cuda", kind=Driver.CUDA, version="470.82.01")  # the last branch that has Kepler
CUDA_LTS = DriverImage(name="aks-gpu-cuda-lts", kind=Driver.CUDA, version="580.159.04", supported_until="2028-08")
GRID = DriverImage(name="aks-gpu-grid", kind=Driver.GRID, version="570.211.01")
GRID_V20 = DriverImage(name="aks-gpu-grid-v20", kind=Driver.GRID, version="595.58.03")


class Listing(NamedTuple):
    """AKS's support of the sizes of a series."""

    series: str
    driver: DriverImage | None  # on Linux; None: AKS installs none, or unknown
    systems: frozenset[NodeSystem]
    lifecycle: Lifecycle
    installs_driver: bool = True  # False: the pool's driver must be None
    documented: bool = True  # False: the list of Azure's own node provisioner has it, and no page of AKS names it


TABLE = Table(
    tables.beside(__file__, "gpu_series.csv"),
    {
        "series": "a row of ../../sizes/series.csv",
        "driver": "the image that its driver comes from on Linux; empty if AKS installs none, or unknown",
        "systems": "the node systems on which it has GPUs",
        "installs_driver": "no if the pool's driver must be None",
        "documented": "no if only the list of Azure's node provisioner has it, and no page of AKS",
        "source": "the earliest that has it",
    },
)
_DRIVERS = {image.name: image for image in (CUDA_470, CUDA_LTS, GRID, GRID_V20)}
_SYSTEMS = {system.value: system for system in NodeSystem}


def read(rows: Iterator[Row], known: Mapping[str, Source]) -> dict[str, Listing]:
    """The values of a table's rows. `known`: the sources to refer to. Raises TableError for an invalid row."""
    return {
        name: Listing(
            series=name,
            driver=row.maybe("driver", _DRIVERS),
            systems=frozenset(row.several("systems", _SYSTEMS)),
            lifecycle=Lifecycle(seen=row.one_of("source", known, sources.WHERE)),
            installs_driver=row.yes("installs_driver"),
            documented=row.yes("documented"),
        )
        for name, row in tables.by_name(rows, "series").items()
    }


LISTED = Keyed(lambda: read(tables.read(TABLE), sources.named()))
REFUSED_SERIES = {"NVv4": _GPU_PAGE_2023}  # named as one that isn't supported
AMD_SIZES = ("Standard_ND96isr_MI300X_v5",)  # the only ones that AKS's page on AMD names


def listing(size: Size) -> Listing | None:
    """The row of the size's series; None if AKS doesn't list it."""
    return LISTED.get(size.series.name)
