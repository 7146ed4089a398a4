"""Which NVIDIA driver runs which CUDA version, and which GPU.

A driver runs programs of its own CUDA version and of all older ones; since CUDA 11 also those of newer minor versions of the same
major version. Versions that aren't in these tables are accepted silently.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from azure_gpu.catalog import sources, tables
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.sizes.model import Gpu
from azure_gpu.catalog.sources import Source, observed
from azure_gpu.catalog.tables import Keyed, Listed, Table

MATRIX = observed("NVIDIA data center drivers, CUDA toolkit, driver and architecture matrix", 2026, 11, 20)


class Toolkit(NamedTuple):
    """A minor version of CUDA and the first driver that is made for it.

    `windows` is empty since CUDA 13, whose toolkit has no Windows driver; the branch of the Linux driver is used instead.
    """

    cuda: str
    linux: str
    windows: str

    def first_driver(self, windows: bool) -> str:
        if windows:
            return self.windows or self.linux.split(".")[0]
        return self.linux


TOOLKITS_TABLE = Table(
    tables.beside(__file__, "toolkits.csv"),  # source: RELEASE_NOTES, the first release of each minor version
    {
        "cuda": "a minor version",
        "linux": "the first driver that is made for it",
        "windows": "the same on Windows; empty since CUDA 13",
    },
)
TOOLKITS: Sequence[Toolkit] = Listed(
    lambda: (Toolkit(row.filled("cuda"), row.filled("linux"), row["windows"]) for row in tables.read(TOOLKITS_TABLE))
)

# Since this major version, a driver runs every minor version of each major version that it supports. Source: RELEASE_NOTES.
MINOR_COMPATIBLE_SINCE = 11

# A driver's version starts with its branch; a Windows version may start a few higher (471.11 is of branch 470).
BRANCHES: Sequence[int] = Listed(lambda: sorted({int(toolkit.linux.split(".")[0]) for toolkit in TOOLKITS}))
_NEWER_BY = 10  # a driver this far above the last branch may be made for a CUDA version that isn't in TOOLKITS


class Architecture(NamedTuple):
    """A generation of NVIDIA's GPUs, with the drivers and CUDA versions that support it. None: unknown, or no end announced."""

    name: str
    first_cuda: str  # the first that builds for it
    last_cuda: int | None  # the last major version that builds for it
    first_branch: int | None  # of drivers
    last_branch: int | None
    source: Source


ARCHITECTURES_TABLE = Table(
    tables.beside(__file__, "architectures.csv"),
    {
        "name": "of the generation",
        "first_cuda": "the first version that builds for it",
        "last_cuda": "the last major version that builds for it; empty: no end announced",
        "first_branch": "of drivers: that of the first CUDA version, but for Hopper, which CUDA 11.8 builds for",
        "last_branch": "of drivers",
        "source": "where it was read",
    },
)


def _architectures() -> Iterator[Architecture]:
    for name, row in tables.by_name(tables.read(ARCHITECTURES_TABLE), "name").items():
        last_cuda, first, last = (row.whole(column) for column in ("last_cuda", "first_branch", "last_branch"))
        source = row.one_of("source", sources.named(), sources.WHERE)
        yield Architecture(name, row.filled("first_cuda"), last_cuda, first, last, source)


ARCHITECTURES: Mapping[str, Architecture] = Keyed(lambda: {each.name: each for each in _architectures()})

_VERSION = r"(?a)\d{3}(?:\.\d{1,3}){1,2}"
_CUDA = r"(?a)(\d{1,2})(?:\.(\d{1,2}))?(?:\.\d+)*"


def cuda_version(text: str) -> tuple[int, ...]:
    """`10.1` as (10, 1), `11` as (11,), `12.4.1` as (12, 4). Empty if the text isn't a version."""
    found = re.fullmatch(_CUDA, text)
    return tuple(int(part) for part in found.groups() if part is not None) if found else ()


def runs(highest_cuda: str, cuda: str) -> bool | None:
    """Whether a driver made for `highest_cuda` runs programs of `cuda`. `11` stands for all of 11. None if one
    of them isn't a version."""
    highest, requested = cuda_version(highest_cuda), cuda_version(cuda)
    if not highest or not requested:
        return None
    if highest[0] == requested[0] and highest[0] >= MINOR_COMPATIBLE_SINCE:
        return True
    return requested[: len(highest)] <= highest


def highest_cuda(driver: str, *, windows: bool = False) -> str | None:
    """The newest CUDA version that a driver supports; None if its branch is unknown, or it isn't a version."""
    if not re.fullmatch(_VERSION, driver) or _numbers(driver)[0] >= BRANCHES[-1] + _NEWER_BY:
        return None
    made_for = [toolkit.cuda for toolkit in TOOLKITS if _numbers(driver) >= _numbers(toolkit.first_driver(windows))]
    return made_for[-1] if made_for else None


def branch_of(driver: str) -> int | None:
    """The branch of a driver, 470 for 470.82.01 and for Windows' 472.50; None if it is older than all known ones."""
    if not re.fullmatch(_VERSION, driver):
        return None
    return max((branch for branch in BRANCHES if branch <= _numbers(driver)[0]), default=None)


def check_driver(version: str, gpu: Gpu | None, path: str) -> list[Problem]:
    """The problems of installing this NVIDIA driver on a machine with `gpu`, which is None if it has none, or an unknown one."""
    if not re.fullmatch(_VERSION, version):
        return [refused("driver.bad_version", path, version)]
    if gpu is None:
        return []
    if gpu.vendor != "NVIDIA":
        return [refused("driver.other_vendor", path, version, source=gpu.source, gpu=gpu)]
    architecture = ARCHITECTURES.get(gpu.architecture)
    if architecture is None:
        return []
    first, last = architecture.first_branch, architecture.last_branch
    branch = branch_of(version) or _numbers(version)[0]
    if first is not None and branch < first:
        return [refused("driver.too_old", path, version, source=architecture.source, gpu=gpu, branch=first)]
    if last is not None and branch > last:
        return [refused("driver.too_new", path, version, source=architecture.source, gpu=gpu, branch=last)]
    return []


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
