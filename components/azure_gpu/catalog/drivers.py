"""Which NVIDIA driver runs which CUDA version, and which GPU.

A driver runs programs of its own CUDA version and of all older ones; since CUDA 11 also those of newer minor versions of the same
major version. Versions that aren't in these tables are accepted silently.
"""

import re
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.sizes.model import Gpu
from azure_gpu.catalog.sources import Source, observed

MATRIX = observed("NVIDIA data center drivers, CUDA toolkit, driver and architecture matrix", 2026, 11, 20)
MINIMUMS = observed("NVIDIA Multi-Instance GPU user guide, deployment considerations", 2026, 11, 20)


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


# Source: RELEASE_NOTES, the first release of each minor version.
TOOLKITS: tuple[Toolkit, ...] = (
    Toolkit("8.0", "367.48", "369.30"),
    Toolkit("9.0", "384.81", "385.54"),
    Toolkit("9.1", "390.46", "391.29"),
    Toolkit("9.2", "396.26", "397.44"),
    Toolkit("10.0", "410.48", "411.31"),
    Toolkit("10.1", "418.39", "418.96"),
    Toolkit("10.2", "440.33", "441.22"),
    Toolkit("11.0", "450.36.06", "451.22"),
    Toolkit("11.1", "455.23", "456.38"),
    Toolkit("11.2", "460.27.03", "460.82"),
    Toolkit("11.3", "465.19.01", "465.89"),
    Toolkit("11.4", "470.42.01", "471.11"),
    Toolkit("11.5", "495.29.05", "496.04"),
    Toolkit("11.6", "510.39.01", "511.23"),
    Toolkit("11.7", "515.43.04", "516.01"),
    Toolkit("11.8", "520.61.05", "520.06"),
    Toolkit("12.0", "525.60.13", "527.41"),
    Toolkit("12.1", "530.30.02", "531.14"),
    Toolkit("12.2", "535.54.03", "536.25"),
    Toolkit("12.3", "545.23.06", "545.84"),
    Toolkit("12.4", "550.54.14", "551.61"),
    Toolkit("12.5", "555.42.02", "555.85"),
    Toolkit("12.6", "560.28.03", "560.76"),
    Toolkit("12.8", "570.26", "570.65"),
    Toolkit("12.9", "575.51.03", "576.02"),
    Toolkit("13.0", "580.65.06", ""),
    Toolkit("13.1", "590.44.01", ""),
)

# Since this major version, a driver runs every minor version of each major version that it supports. Source: RELEASE_NOTES.
MINOR_COMPATIBLE_SINCE = 11

# A driver's version starts with its branch; a Windows version may start a few higher (471.11 is of branch 470).
BRANCHES: tuple[int, ...] = tuple(sorted({int(toolkit.linux.split(".")[0]) for toolkit in TOOLKITS}))
_NEWER_BY = 10  # a driver this far above the last branch may be made for a CUDA version that isn't in TOOLKITS


class Architecture(NamedTuple):
    """A generation of NVIDIA's GPUs, with the drivers and CUDA versions that support it. None: unknown, or no end announced."""

    name: str
    first_cuda: str  # the first that builds for it
    last_cuda: int | None  # the last major version that builds for it
    first_branch: int | None  # of drivers
    last_branch: int | None
    source: Source


def _architecture(
    name: str, first_cuda: str, last_cuda: int | None, first_branch: int | None, last_branch: int | None, source: Source = MATRIX
) -> Architecture:
    return Architecture(
        name=name,
        first_cuda=first_cuda,
        last_cuda=last_cuda,
        first_branch=first_branch,
        last_branch=last_branch,
        source=source,
    )


# The first branch is that of the first CUDA version, except for Hopper: CUDA 11.8 builds for it, but MINIMUMS gives branch 525.
ARCHITECTURES: dict[str, Architecture] = {
    one.name: one
    for one in (
        _architecture("Kepler", "6.0", 11, None, 470),
        _architecture("Maxwell", "6.5", 12, None, 580),
        _architecture("Pascal", "8.0", 12, 367, 580),
        _architecture("Volta", "9.0", 12, 384, 580),
        _architecture("Turing", "10.0", None, 410, None),
        _architecture("Ampere", "11.0", None, 450, None),
        _architecture("Ada", "11.8", None, 520, None),
        _architecture("Hopper", "11.8", None, 525, None, MINIMUMS),
        _architecture("Blackwell", "12.8", None, 570, None),
        _architecture("Blackwell Ultra", "12.9", None, 575, None, MINIMUMS),
    )
}

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
