"""The GPU sizes that AKS lists, the driver that it puts on each, and the operating systems on which it does.

`LISTED`, one row for each group of series, and `listing`, which finds the row of a size. A size in no row is
one for which AKS installs nothing.
"""

from datetime import date
from enum import StrEnum
from typing import NamedTuple

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.sizes.model import Driver, Size
from azure_gpu.catalog.sources import INFERENCE_ARTICLE, KARPENTER_GPUS as KARPENTER, Dated, Source

AGENT_BAKER = Source("Azure/AgentBaker, components.json and pkg/agent/baker.go", Dated.OBSERVED, date(2026, 8, 21))
NVIDIA_PAGE = Source("Microsoft Learn, articles/aks/use-nvidia-gpu.md", Dated.OBSERVED, date(2026, 7, 2))
AMD_PAGE = Source("Microsoft Learn, articles/aks/use-amd-gpus.md", Dated.OBSERVED, date(2025, 6, 4))
WINDOWS_PAGE = Source("Microsoft Learn, articles/aks/use-windows-gpu.md", Dated.OBSERVED, date(2024, 3, 18))
_GPU_PAGE_2023 = Source("Microsoft Learn, articles/aks/gpu-cluster.md", Dated.OBSERVED, date(2023, 4, 10))
_MIG_API = Source("Microsoft.ContainerService API 2021-08-01, gpuInstanceProfile", Dated.OBSERVED, date(2021, 8, 1))
_H100_2025 = Source("Azure/AKS, CHANGELOG.md: MIG on Standard_NC40ads_H100_v5", Dated.OBSERVED, date(2025, 1, 30))

INSTALL = "Install"  # what a pool asks for where AKS is to put the driver on, and the default
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

_UBUNTU = frozenset({NodeSystem.UBUNTU})
_WITH_WINDOWS = frozenset({NodeSystem.UBUNTU, NodeSystem.WINDOWS})
_WITH_AZURE_LINUX_3 = _WITH_WINDOWS | {NodeSystem.AZURE_LINUX_3}
_EVERYWHERE = frozenset(NodeSystem)


class Listing(NamedTuple):
    """What AKS does with the sizes of some series."""

    series: tuple[str, ...]
    driver: DriverImage | None  # on Linux; None: AKS installs none, or no source says which
    systems: frozenset[NodeSystem]
    lifecycle: Lifecycle
    installs_driver: bool = True  # False: the pool has to ask for no driver
    documented: bool = True  # False: the list of Azure's own node provisioner has it, and no page of AKS names it


def _seen(source: Source) -> Lifecycle:
    return Lifecycle(seen=source)


LISTED: tuple[Listing, ...] = (
    Listing(series=("NC", "NC Promo"), driver=CUDA_470, systems=_WITH_WINDOWS, lifecycle=_seen(INFERENCE_ARTICLE)),
    Listing(series=("NCv2", "ND", "NV", "NV Promo"), driver=None, systems=_WITH_WINDOWS, lifecycle=_seen(KARPENTER)),
    Listing(series=("NVv3",), driver=CUDA_LTS, systems=_WITH_WINDOWS, lifecycle=_seen(KARPENTER)),
    Listing(series=("NCv3",), driver=CUDA_LTS, systems=_EVERYWHERE, lifecycle=_seen(WINDOWS_PAGE)),
    Listing(series=("NCasT4_v3", "NDv2"), driver=CUDA_LTS, systems=_EVERYWHERE, lifecycle=_seen(KARPENTER)),
    Listing(series=("NC_A100_v4",), driver=CUDA_LTS, systems=_WITH_AZURE_LINUX_3, lifecycle=_seen(KARPENTER)),
    Listing(series=("NCads_H100_v5",), driver=CUDA_LTS, systems=_WITH_AZURE_LINUX_3, lifecycle=_seen(_H100_2025)),
    Listing(series=("NDasrA100_v4",), driver=CUDA_LTS, systems=_WITH_AZURE_LINUX_3, lifecycle=_seen(_MIG_API)),
    Listing(
        series=(
            "NDasrA100_v4 (restricted)",
            "NDm_A100_v4",
            "NDm_A100_v4 (no RDMA)",
            "NDm_A100_v4 (restricted)",
            "NDm_A100_v4 flex",
            "ND_H100_v5",
            "ND_H100_v5 (no RDMA)",
            "ND_H100_v5 flex",
            "ND_H200_v5",
            "ND_H200_v5 (no RDMA)",
            "ND_H200_v5 flex",
        ),
        driver=CUDA_LTS,
        systems=_WITH_AZURE_LINUX_3,
        lifecycle=_seen(KARPENTER),
    ),
    Listing(series=("NCads_A10_v4", "NVadsA10_v5"), driver=GRID, systems=_WITH_WINDOWS, lifecycle=_seen(KARPENTER)),
    Listing(
        series=("NC_RTXPRO6000BSE_v6", "NC_RTXPRO6000BSE_v6 (preview names)"),
        driver=GRID_V20,
        systems=_UBUNTU,
        lifecycle=_seen(AGENT_BAKER),
    ),
    Listing(series=("ND_GB200_v6", "ND_GB300_v6"), driver=None, systems=_UBUNTU, lifecycle=_seen(KARPENTER)),
    Listing(series=("ND_MI300X_v5",), driver=None, installs_driver=False, systems=_UBUNTU, lifecycle=_seen(AMD_PAGE)),
    Listing(
        series=("ND_MI300X_v5 (no RDMA)", "NVads_V710_v5"),
        driver=None,
        installs_driver=False,
        systems=_UBUNTU,
        lifecycle=_seen(KARPENTER),
        documented=False,
    ),
)

REFUSED_SERIES = {"NVv4": _GPU_PAGE_2023}  # named as one that isn't supported
AMD_SIZES = ("Standard_ND96isr_MI300X_v5",)  # the only ones that AKS's page on AMD names


_BY_SERIES = {series: row for row in LISTED for series in row.series}


def listing(size: Size) -> Listing | None:
    """The row that speaks of the size; None where AKS lists it nowhere."""
    return _BY_SERIES.get(size.series.name)
