"""The GPU series that AKS lists, with the driver that it installs and the operating systems, and the rules for sizes.

On other series it installs no driver. General rules, such as retirement, are in `catalog.offers`; `pools` checks whole pools.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Literal, NamedTuple, get_args

from azure_gpu.catalog import lifecycle, sources, tables
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.size_use import SizeUse
from azure_gpu.catalog.sizes.model import Driver, Size
from azure_gpu.catalog.sources import Source, observed
from azure_gpu.catalog.tables import Keyed, Row, Table

AGENT_BAKER = observed("Azure/AgentBaker, components.json and pkg/agent/baker.go", 2026, 8, 21)
NVIDIA_PAGE = observed("Microsoft Learn, articles/aks/use-nvidia-gpu.md", 2026, 7, 2)
AMD_PAGE = observed("Microsoft Learn, articles/aks/use-amd-gpus.md", 2025, 6, 4)
_GPU_PAGE_2023 = observed("Microsoft Learn, articles/aks/gpu-cluster.md", 2023, 4, 10)

INSTALL = "Install"  # the default: AKS installs the driver
NO_DRIVER = "None"


NodeSystem = Literal[
    "Ubuntu",
    "Azure Linux 2",
    "Azure Linux 3",
    "Windows",
]
"""The systems of node images, as the list of GPU sizes tells them apart."""


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


def read(rows: Iterator[Row], known: Mapping[str, Source]) -> dict[str, Listing]:
    """The values of a table's rows. `known`: the sources to refer to. Raises TableError for an invalid row."""
    return {
        name: Listing(
            series=name,
            driver=row.maybe("driver", _DRIVERS),
            systems=frozenset(row.several("systems", get_args(NodeSystem))),
            lifecycle=Lifecycle(seen=row.one_of("source", known, sources.WHERE)),
            installs_driver=row.yes("installs_driver"),
            documented=row.yes("documented"),
        )
        for name, row in tables.by_name(rows, "series").items()
    }


LISTED = Keyed(lambda: read(tables.read(TABLE), sources.named()))
REFUSED_SERIES = {"NVv4": _GPU_PAGE_2023}  # named as one that isn't supported
_TRY = "try it with one node"
AMD_SIZES = ("Standard_ND96isr_MI300X_v5",)  # the only ones that AKS's page on AMD names


def listing(size: Size) -> Listing | None:
    """The row of the size's series; None if AKS doesn't list it."""
    return LISTED.get(size.series.name)


_WINDOWS_NODES: frozenset[NodeSystem] = frozenset({"Windows"})
_LINUX_NODES: frozenset[NodeSystem] = frozenset(get_args(NodeSystem)) - _WINDOWS_NODES


def size_problems(size: Size, use: SizeUse, as_of: date) -> Iterator[Problem]:
    """The problems of this size on AKS, independent of driver and distribution; problems that depend on them are warnings."""
    systems = _WINDOWS_NODES if use.operating_system == "Windows" else _LINUX_NODES
    yield from in_pool(size, systems, None, as_of, use.path, use.path)


def in_pool(
    size: Size, systems: frozenset[NodeSystem], driver: str | None, as_of: date, path: str, driver_path: str
) -> Iterator[Problem]:
    """The problems of this size in a pool with this driver.

    `systems`: the possible systems of the nodes; empty: unknown. `driver`: None: not decided.
    """
    if size.gpu is None:
        return
    row = listing(size)
    if row is None:
        yield from _unlisted(size, driver, as_of, path, driver_path)
        return
    yield from lifecycle.check(row.lifecycle, f"{size.name} on AKS", as_of, path=path, value=size.name)
    if not row.documented:
        words = {"source": row.lifecycle.seen, "documented": AMD_SIZES[0]}
        yield refused("aks.amd_undocumented", path, size.name, **words)
    if not row.installs_driver and driver != NO_DRIVER:
        yield from _needs_no_driver(size, driver, as_of, driver_path, None if row.documented else row.lifecycle.seen)
    brings_own = row.installs_driver and driver == NO_DRIVER
    if systems and not systems & row.systems and not brings_own:
        yield from _wrong_system(size, row, systems, as_of, path)


def _unlisted(size: Size, driver: str | None, as_of: date, path: str, driver_path: str) -> Iterator[Problem]:
    amd = size.gpu is not None and size.gpu.vendor == "AMD"
    page = REFUSED_SERIES.get(size.series.name)
    if page is not None or amd:
        problem = refused("aks.size_refused", path, size.name, amd_sizes=", ".join(AMD_SIZES))
        if page is not None:  # the page names the series, and says no
            yield from lifecycle.as_of_day(page, as_of, problem)
        else:
            yield from lifecycle.on_list(AMD_PAGE, as_of, f"{size.name} on AKS", problem, _TRY)
    elif driver != NO_DRIVER:
        yield from _needs_no_driver(size, driver, as_of, driver_path, NVIDIA_PAGE)


def _needs_no_driver(size: Size, driver: str | None, as_of: date, path: str, lacking: Source | None) -> Iterator[Problem]:
    """`lacking`: the list that doesn't have the size; None: a page names it."""
    problem = refused(
        "aks.driver_none_required",
        path,
        size.name if driver is None else driver,
        severity=Severity.WARNING if driver is None else Severity.ERROR,
        size=size,
        no_driver=NO_DRIVER,
    )
    if lacking is None:
        yield from lifecycle.as_of_day(AMD_PAGE, as_of, problem)
        return
    what, fix = f"a driver of AKS for {size.name}", f"{_TRY}, or set the pool's driver to {NO_DRIVER}"
    yield from lifecycle.on_list(lacking, as_of, what, problem, fix)


def _wrong_system(size: Size, row: Listing, systems: frozenset[NodeSystem], as_of: date, path: str) -> Iterator[Problem]:
    allowed = ", ".join(system for system in get_args(NodeSystem) if system in row.systems)
    wanted = f"{size.name} with {' or '.join(system for system in get_args(NodeSystem) if system in systems)}"
    read = max((each.lifecycle.seen for each in LISTED.values()), key=lambda source: source.day)
    problem = refused("aks.size_without_system", path, size.name, allowed=allowed, wanted=wanted)
    yield from lifecycle.on_list(read, as_of, wanted, problem, f"choose {allowed}, or try it with one node", row.lifecycle.seen)
