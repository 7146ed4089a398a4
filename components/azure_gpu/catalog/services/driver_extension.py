"""The VM extension that installs a GPU driver: which driver it installs on which size and operating system, and the rules.

The extension's lists have a date: before it, a missing entry is unknown; from then on, it is rejected, until the list's shelf
life is over.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import drivers, lifecycle
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.vm_images import Distribution, system_of
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Driver, Size, Vendor
from azure_gpu.catalog.sources import BATCH_ARTICLE, Source, observed

PUBLISHER = "Microsoft.HpcCompute"
NVIDIA_LINUX = "NvidiaGpuDriverLinux"
NVIDIA_WINDOWS = "NvidiaGpuDriverWindows"
AMD_LINUX = "AmdGpuDriverLinux"
AMD_WINDOWS = "AmdGpuDriverWindows"
HANDLER_VERSIONS = ("1.10", "1.11")  # of NVIDIA's for Linux, in public code
# Sources: MicrosoftDocs/azure-compute-docs, extensions/hpccompute-gpu-windows.md, 2024-07-25, and hpccompute-amd-gpu-linux.md,
# 2025-04-30; azure-docs, hpccompute-amd-gpu-windows.md, 2020-05-10.
_OTHER_HANDLERS = {NVIDIA_WINDOWS: "1.10", AMD_WINDOWS: "1.0", AMD_LINUX: "1.0"}
GRID_ON_NC = "installGridNC"  # settings that force GRID where CUDA is the default
GRID_ON_ND = "installGridND"
VERSION = "driverVersion"  # the setting that pins a version: of a GRID driver, or of a CUDA toolkit
LATEST = "latest"

LIST = observed("Azure/azhpc-extensions, NvidiaGPU/*.json (stamped 2024-08-29 and 2024-12-13)", 2024, 12, 13)
NEWEST_LIST = observed("Azure/azhpc-extensions, NvidiaGPU/*.json at the state of 2026-04-20", 2026, 4, 20)
_AMD = "Azure/azhpc-extensions, AmdGPU/AMD-GPU-{}-Resources.json"
# GRID 17.5 breaks CUDA on the A10: the page says so, and that the extension installs 17.x there until the end of March 2026. The
# list of 2026-04-20 has 570.211.01 (18.6) first.
A10_PAGE = observed(
    "MicrosoftDocs/azure-compute-docs, articles/virtual-machines/extensions/hpccompute-gpu-linux.md at 07921ada", 2025, 6, 30
)
_A10, _GRID_17_5, _GRID_16_5, _LAST_DAY_OF_17 = "NVadsA10_v5", "550.144", "535.161", date(2026, 3, 31)
# From here on the sizes run GRID 17 or later alone: virtual-machines-n-series-linux-support.md. The version is that of the list.
_NO_16, _GRID_18 = date(2025, 12, 1), "570.211.01"

DEFAULTS: Mapping[str, Driver] = {
    "NC": Driver.CUDA,
    "NCv2": Driver.CUDA,
    "NCv3": Driver.CUDA,
    "NC_A100_v4": Driver.CUDA,
    "NCasT4_v3": Driver.CUDA,
    "NVv3": Driver.GRID,
    "NVadsA10_v5": Driver.GRID,
}
TAKES: Mapping[Driver, frozenset[str]] = {
    Driver.CUDA: frozenset({"NC", "NCv2", "NCv3", "NCasT4_v3", "NVv3", "NC_A100_v4"}),
    Driver.GRID: frozenset({"NCasT4_v3", "NVv3", "NVadsA10_v5"}),
}
# AMD's by system, each with its list. No setting chooses another driver.
AMD_LISTS: Mapping[OperatingSystem, Source] = {
    "Linux": observed(_AMD.format("Linux"), 2025, 4, 9),
    "Windows": observed(_AMD.format("Windows"), 2024, 8, 2),
}
AMD_DEFAULTS: Mapping[OperatingSystem, Mapping[str, Driver]] = {
    "Linux": {"NVads_V710_v5": Driver.ROCM},
    "Windows": dict.fromkeys(("NVv4", "NGads_V620", "NVads_V710_v5"), Driver.AMD_GRAPHICS),
}


class Entry(NamedTuple):
    """One line of the list: what is installed under which operating systems."""

    driver: Driver
    operating_system: OperatingSystem
    version: str  # of the driver, or if the list has only that, of the CUDA toolkit
    distributions: frozenset[Distribution]


def _entry(driver: Driver, version: str, *distributions: Distribution) -> Entry:
    return Entry(
        driver=driver,
        operating_system=system_of(distributions[0]),
        version=version,
        distributions=frozenset(distributions),
    )


_UBUNTU_GRID = ("Ubuntu 20.04 LTS", "Ubuntu 22.04 LTS", "Ubuntu 24.04 LTS")
_CENTOS_7 = ("CentOS 7", "CentOS 7.3", "CentOS 7.4", "CentOS-HPC 7.4")
_WINDOWS = ("Windows Server 2016", "Windows Server 2019", "Windows Server 2022")
ENTRIES: tuple[Entry, ...] = (
    _entry(Driver.CUDA, "535.54, CUDA 12.2", "Ubuntu 22.04 LTS"),
    _entry(Driver.CUDA, "530.30, CUDA 12.1", "Ubuntu 20.04 LTS", "Ubuntu 18.04 LTS"),
    _entry(Driver.CUDA, "455.23, CUDA 11.1", "Red Hat Enterprise Linux 8", "CentOS 8"),
    _entry(Driver.CUDA, "CUDA 10.0.130", "Red Hat Enterprise Linux 7", *_CENTOS_7),
    _entry(Driver.GRID, "the newest of the list", *_UBUNTU_GRID, "Red Hat Enterprise Linux 8"),
    _entry(Driver.CUDA, "560.94", *_WINDOWS),
    _entry(Driver.GRID, "538.46 (2016 and 2019), 553.62 (2022)", *_WINDOWS),
    _entry(Driver.AMD_GRAPHICS, "the newest of the series; Windows Server 2016 with NVv4", *_WINDOWS),
    _entry(Driver.ROCM, "6.3.3", "Ubuntu 22.04 LTS", "Ubuntu 24.04 LTS"),
)
# What was there before the list, from the third source document: the extension on an NC machine with Ubuntu 16.04.
BEFORE_THE_LIST: Mapping[tuple[str, Distribution], Source] = {("NC", "Ubuntu 16.04 LTS"): BATCH_ARTICLE}


class ExtensionRequest(NamedTuple):
    """The extension as it is declared, and where."""

    type: str
    settings: Mapping[str, object]
    path: str
    publisher: str = PUBLISHER
    secure_boot: bool = False


def handler_version(kind: str) -> str:
    """The version of the extension's handler in requests."""
    return _OTHER_HANDLERS.get(kind, HANDLER_VERSIONS[-1])


def type_for(vendor: Vendor, operating_system: OperatingSystem) -> str:
    """The extension's type for that GPU and operating system."""
    windows = operating_system == "Windows"
    if vendor == "NVIDIA":
        return NVIDIA_WINDOWS if windows else NVIDIA_LINUX
    return AMD_WINDOWS if windows else AMD_LINUX


def driver_of(size: Size, settings: Mapping[str, object], operating_system: OperatingSystem) -> Driver | None:
    """The driver that the extension installs on this size; None if the list doesn't have its series."""
    if _of_amd(size):
        return AMD_DEFAULTS[operating_system].get(size.series.name)
    default = DEFAULTS.get(size.series.name)
    if default is Driver.CUDA and (settings.get(GRID_ON_NC) is True or settings.get(GRID_ON_ND) is True):
        return Driver.GRID
    return default


def extension_problems(
    request: ExtensionRequest, size: Size, distribution: Distribution | None, as_of: date, *, needs: Driver | None = None
) -> Iterator[Problem]:
    """All problems of the extension on this size, under that operating system, for software that needs that driver.

    `distribution`: None: unknown, not checked.
    """
    if not _same(request.publisher, PUBLISHER):
        yield refused("extension.unknown_publisher", request.path, request.publisher, publisher=PUBLISHER)
    if size.gpu is None:
        yield refused("extension.no_gpu", request.path, size.name)
        return
    operating_system = system_of(distribution) if distribution else _system_of(request.type)
    right = type_for(size.gpu.vendor, operating_system)
    if not _same(request.type, right):
        yield refused("extension.other_gpu", request.path, request.type, allowed=right, gpu=size.gpu, system=operating_system)
        return
    if request.secure_boot:
        yield refused("extension.secure_boot", request.path, True)
    driver = driver_of(size, request.settings, operating_system)
    if driver is None:
        yield from _series(request, size, as_of, operating_system)
        return
    yield from _kind(request, size, driver, needs, as_of)
    if not _of_amd(size):
        yield from _pinned(request, size)
    yield from _without_cuda(request, size, as_of)
    if distribution is not None:
        yield from _system(request, size, driver, distribution, as_of)


def lists(size: Size, operating_system: OperatingSystem) -> tuple[Source, Source]:
    """The list that decides about the size, as it was first read and as it was last."""
    return (AMD_LISTS[operating_system],) * 2 if _of_amd(size) else (LIST, NEWEST_LIST)


def _of_amd(size: Size) -> bool:
    return size.gpu is not None and size.gpu.vendor == "AMD"


def _same(one: str, other: str) -> bool:
    return one.lower() == other.lower()


def _system_of(extension_type: str) -> OperatingSystem:
    return "Windows" if extension_type.lower().endswith("windows") else "Linux"


_TRY = "try it with one machine, or use an image that brings the driver"


def _series(request: ExtensionRequest, size: Size, as_of: date, operating_system: OperatingSystem) -> Iterator[Problem]:
    listed = ", ".join(sorted(AMD_DEFAULTS[operating_system] if _of_amd(size) else DEFAULTS))
    earliest, newest = lists(size, operating_system)
    if size.lifecycle.seen.day > newest.day:
        yield refused("extension.size_newer_than_list", request.path, size.name, allowed=listed, source=newest)
    elif as_of < earliest.day:
        yield refused("extension.size_before_list", request.path, size.name, source=earliest, day=as_of, listed=listed)
    else:
        problem = refused("extension.size_not_listed", request.path, size.name, allowed=listed)
        source = newest if as_of >= newest.day else earliest
        yield from lifecycle.on_list(newest, as_of, f"the series of {size.name} in the driver extension", problem, _TRY, source)


def _kind(request: ExtensionRequest, size: Size, driver: Driver, needs: Driver | None, as_of: date) -> Iterator[Problem]:
    if not _of_amd(size) and size.series.name not in TAKES[driver]:
        words = {"allowed": ", ".join(sorted(TAKES[driver])), "driver": driver, "size": size}
        problem = refused("extension.driver_not_listed", request.path, dict(request.settings), **words)
        what = f"a {driver} driver of the extension for {size.name}"
        yield from lifecycle.on_list(NEWEST_LIST, as_of, what, problem, "leave the setting out, or try it with one machine", LIST)
    if needs is None or driver is needs or (needs is Driver.CUDA and driver is Driver.GRID):
        return  # GRID carries CUDA
    if needs is Driver.GRID and size.series.name in TAKES[Driver.GRID]:
        fix = f"set {GRID_ON_NC} to true"
    else:
        fix = f"choose a size for which the extension has {needs}"
    yield refused("extension.other_driver", request.path, size.name, fix=fix, driver=driver, needs=needs)


def _pinned(request: ExtensionRequest, size: Size) -> Iterator[Problem]:
    """A pinned version is that of a driver, or for the CUDA driver that of a toolkit, which comes with its own driver."""
    version = str(request.settings.get(VERSION, LATEST))
    if version == LATEST:
        return
    toolkit = drivers.cuda_version(version)[:2]
    windows = _system_of(request.type) == "Windows"
    of_toolkit = [one.first_driver(windows) for one in drivers.TOOLKITS if drivers.cuda_version(one.cuda) == toolkit]
    yield from drivers.check_driver(of_toolkit[0] if of_toolkit else version, size.gpu, request.path)


def _without_cuda(request: ExtensionRequest, size: Size, as_of: date) -> Iterator[Problem]:
    """The warning of the GRID driver that breaks CUDA on the A10 under Linux."""
    version = str(request.settings.get(VERSION, LATEST))
    installed = version.startswith(_GRID_17_5) or (version == LATEST and A10_PAGE.day <= as_of <= _LAST_DAY_OF_17)
    if size.series.name == _A10 and installed and _system_of(request.type) == "Linux":
        fix = f"set {VERSION} to " + (f"{_GRID_16_5}, which is GRID 16.5" if as_of < _NO_16 else f"{_GRID_18}, GRID 18.6")
        yield refused("extension.breaks_cuda", request.path, version, fix=fix, source=A10_PAGE, size=size)


def _system(request: ExtensionRequest, size: Size, driver: Driver, distribution: Distribution, as_of: date) -> Iterator[Problem]:
    allowed = frozenset(one for entry in ENTRIES if entry.driver is driver for one in entry.distributions)
    same_system = sorted(one for one in allowed if system_of(one) == system_of(distribution))
    if distribution in allowed:
        return
    earliest, newest = lists(size, system_of(distribution))
    if as_of < earliest.day:
        if (size.series.name, distribution) not in BEFORE_THE_LIST:
            words = {"source": earliest, "driver": driver, "day": as_of, "listed": ", ".join(same_system)}
            yield refused("extension.system_before_list", request.path, str(distribution), **words)
        return
    words = {"allowed": ", ".join(same_system), "either": " or ".join(same_system), "driver": driver}
    problem = refused("extension.system_not_listed", request.path, str(distribution), **words)
    yield from lifecycle.on_list(newest, as_of, f"a {driver} driver of the extension for {distribution}", problem, _TRY, earliest)
