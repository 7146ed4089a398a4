"""Rules for VM sizes with a GPU as AKS nodes: drivers and node systems.

General rules, such as retirement, are in `catalog.offers`; `sizes` has the list; `pools` checks whole pools.
"""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services import observed
from azure_gpu.catalog.services.aks.sizes import (
    AMD_PAGE,
    AMD_SIZES,
    NO_DRIVER,
    NVIDIA_PAGE,
    REFUSED_SERIES,
    Listing,
    NodeSystem,
    listing,
)
from azure_gpu.catalog.size_use import OperatingSystem, SizeUse
from azure_gpu.catalog.sizes.model import Size, Vendor

_WINDOWS = frozenset({NodeSystem.WINDOWS})
_LINUX = frozenset(NodeSystem) - _WINDOWS


def size_problems(size: Size, use: SizeUse, as_of: date) -> Iterator[Problem]:
    """The problems of this size on AKS, independent of driver and distribution; problems that depend on them are warnings."""
    systems = _WINDOWS if use.operating_system is OperatingSystem.WINDOWS else _LINUX
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
        yield _undocumented(size, row, path)
    if not row.installs_driver and driver != NO_DRIVER:
        yield from _needs_no_driver(size, driver, as_of, driver_path)
    brings_own = row.installs_driver and driver == NO_DRIVER
    if systems and not systems & row.systems and not brings_own:
        yield from _wrong_system(size, row, systems, as_of, path)


def _unlisted(size: Size, driver: str | None, as_of: date, path: str, driver_path: str) -> Iterator[Problem]:
    amd = size.gpu is not None and size.gpu.vendor is Vendor.AMD
    refused = REFUSED_SERIES.get(size.series.name)
    if refused is not None or amd:
        source = refused or AMD_PAGE
        yield from observed.at(
            source,
            as_of,
            Problem(
                path=path,
                message=f"AKS doesn't support {size.name}",
                value=size.name,
                allowed=f"of AMD's GPUs {', '.join(AMD_SIZES)} only",
                fix="choose a size with an NVIDIA GPU, or one that AKS's page on AMD names",
                code=Code.NOT_OFFERED,
            ),
        )
    elif driver != NO_DRIVER:
        yield from _needs_no_driver(size, driver, as_of, driver_path)


def _needs_no_driver(size: Size, driver: str | None, as_of: date, path: str) -> Iterator[Problem]:
    amd = size.gpu is not None and size.gpu.vendor is Vendor.AMD
    yield from observed.at(
        AMD_PAGE if amd else NVIDIA_PAGE,
        as_of,
        Problem(
            path=path,
            message=f"AKS installs no GPU driver on {size.name}, and requires {NO_DRIVER} as the pool's driver",
            value=size.name if driver is None else driver,
            allowed=NO_DRIVER,
            fix=f"set the pool's driver to {NO_DRIVER}, and install one, such as with the vendor's GPU operator",
            code=Code.WRONG_DRIVER,
            severity=Severity.WARNING if driver is None else Severity.ERROR,
        ),
    )


def _undocumented(size: Size, row: Listing, path: str) -> Problem:
    return Problem(
        path=path,
        message=f"AKS's page on AMD GPUs doesn't name {size.name}; only the list of Azure's node provisioner does",
        value=size.name,
        fix=f"choose {AMD_SIZES[0]}, or try it first",
        source=str(row.lifecycle.seen),
        code=Code.UNKNOWN,
        severity=Severity.WARNING,
    )


def _wrong_system(size: Size, row: Listing, systems: frozenset[NodeSystem], as_of: date, path: str) -> Iterator[Problem]:
    allowed = ", ".join(system for system in NodeSystem if system in row.systems)
    yield from observed.at(
        row.lifecycle.seen,
        as_of,
        Problem(
            path=path,
            message=f"AKS doesn't run {size.name} with {' or '.join(system for system in NodeSystem if system in systems)}",
            value=size.name,
            allowed=allowed,
            fix=f"choose {allowed}",
            code=Code.NOT_OFFERED,
        ),
    )
