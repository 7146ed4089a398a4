"""Rules of every AKS pool: name, mode, driver, tags, node image, numbers of nodes, and what can't be changed later."""

import re
from collections.abc import Iterator, Mapping
from datetime import date

from azure_gpu.catalog.problems import Code, End, Problem, Severity
from azure_gpu.catalog.services import observed
from azure_gpu.catalog.services.aks import managed_gpu, mig, spot
from azure_gpu.catalog.services.aks.pool import PROVIDER_API, PROVIDER_SOURCE, SYSTEM, USER, PoolRequest
from azure_gpu.catalog.services.aks.sizes import INSTALL, NO_DRIVER, NVIDIA_PAGE, WINDOWS_PAGE
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Driver
from azure_gpu.catalog.sources import Dated, Source

_POOLS_PAGE = Source("Microsoft Learn, articles/aks/use-system-pools.md", Dated.OBSERVED, date(2026, 8, 21))
_SCALE_PAGE = Source("Microsoft Learn, articles/aks/scale-cluster.md", Dated.OBSERVED, date(2026, 8, 21))
_TAG_END = Source(
    "Microsoft Learn, articles/aks/includes/skip-gpu-driver-install-retirement.md", Dated.VALID_FROM, date(2025, 8, 14)
)
_A10_IMAGE = Source("Azure/AKS, CHANGELOG.md", Dated.OBSERVED, date(2026, 7, 17))

NAME_LENGTHS = {OperatingSystem.LINUX: 12, OperatingSystem.WINDOWS: 6}
MODES = (USER, SYSTEM)
DRIVERS = (INSTALL, NO_DRIVER)  # the first is the default
DRIVER_TYPES = (Driver.CUDA, Driver.GRID)
SKIP_DRIVER_TAG = "SkipGPUDriverInstall"
A10_SERIES = ("NVadsA10_v5", "NCads_A10_v4")
A10_NODE_IMAGE = (202606, 8, 1)  # the first that serves them

# What can't be changed in an existing pool, by field of `PoolRequest`. Taints aren't among it: MicrosoftDocs/azure-aks-docs,
# articles/aks/use-node-taints.md (2026-08-21), changes them with `az aks nodepool update`.
IMMUTABLE: Mapping[str, Source] = {
    "size": NVIDIA_PAGE,
    "driver": NVIDIA_PAGE,
    "mig_profile": mig.PAGE,
    "management_mode": managed_gpu.PAGE,
    "mig_strategy": managed_gpu.PAGE,
    "spot": spot.SOURCE,
}

_NAME = r"[a-z][a-z0-9]*"
_NODE_IMAGE = r"(?:[^.]*-)?([0-9]{6})\.([0-9]{1,2})\.([0-9]{1,3})"


def check(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    """The problems of the pool, apart from its size."""
    yield from _name(request)
    yield from _choices(request)
    yield from _driver_type(request)
    yield from _nodes(request)
    yield from _skip_driver_tag(request, as_of)
    yield from _node_image(request, as_of)


def changes(before: PoolRequest, after: PoolRequest) -> Iterator[Problem]:
    """What AKS can't change in place: one problem per immutable field."""
    for field, source in IMMUTABLE.items():
        old, new = getattr(before, field), getattr(after, field)
        if old != new:
            yield Problem(
                path=after.at(field),
                message=f"AKS can't change the {field.replace('_', ' ')} of an existing pool",
                value=_shown(new),
                allowed=str(_shown(old) or "nothing"),
                fix="create a pool with another name, move the work, and delete the old pool",
                source=str(source),
                code=Code.IMPOSSIBLE,
            )


def _shown(value: object) -> object:
    """A size by its name; all else as it is."""
    return getattr(value, "name", value)


def _name(request: PoolRequest) -> Iterator[Problem]:
    most = NAME_LENGTHS[request.operating_system]
    if re.fullmatch(_NAME, request.name) is None or len(request.name) > most:
        yield Problem(
            path=request.at("name"),
            message=f"not a valid name for a {request.operating_system} pool of AKS ({len(request.name)} characters)",
            value=request.name,
            allowed=f"1 to {most} lower-case letters and digits, a letter first",
            fix="shorten it, and leave out capitals, dashes and underscores",
            source=str(_POOLS_PAGE),
            code=Code.IMPOSSIBLE,
        )


def _choices(request: PoolRequest) -> Iterator[Problem]:
    for field, values, source in (("mode", MODES, _POOLS_PAGE), ("driver", DRIVERS, PROVIDER_SOURCE)):
        value = str(getattr(request, field))
        if value not in values:
            yield Problem(
                path=request.at(field),
                message=f"unknown {field} of a pool",
                value=value,
                allowed=", ".join(values),
                fix=f"write {values[0]}",
                source=str(source),
            )


def _driver_type(request: PoolRequest) -> Iterator[Problem]:
    if not request.driver_type:
        return
    problem_path, value = request.at("driver_type"), request.driver_type
    if value not in DRIVER_TYPES:
        yield Problem(
            path=problem_path,
            message="unknown driver type of AKS",
            value=value,
            allowed=", ".join(DRIVER_TYPES),
            fix="write CUDA for compute, GRID for virtual workstations",
            source=str(WINDOWS_PAGE),
        )
    elif request.size is not None and request.size.gpu is not None and value not in request.size.series.drivers:
        yield Problem(
            path=problem_path,
            message=f"{request.size.name} doesn't support this driver type",
            value=value,
            allowed=", ".join(one for one in DRIVER_TYPES if one in request.size.series.drivers) or "neither",
            fix="leave it out to let AKS choose",
            source=str(WINDOWS_PAGE),
            code=Code.WRONG_DRIVER,
        )
    if request.operating_system is OperatingSystem.LINUX:
        yield Problem(
            path=problem_path,
            message="the driver type can be set only for Windows pools; on Linux, AKS chooses by the size",
            value=value,
            allowed="not set on Linux",
            fix="leave it out",
            source=str(WINDOWS_PAGE),
            code=Code.IMPOSSIBLE,
        )
    if request.api_version == PROVIDER_API:
        yield Problem(
            path=problem_path,
            message=f"API version {PROVIDER_API} doesn't have the driver type",
            value=value,
            fix="leave it out, or use a preview version of the API",
            source=str(PROVIDER_SOURCE),
            code=Code.IMPOSSIBLE,
        )


def _nodes(request: PoolRequest) -> Iterator[Problem]:
    field, least = ("min_count", request.min_count) if request.autoscaler else ("node_count", request.node_count)
    if least < 0:
        yield _number(request, field, least, "a pool can't have fewer than 0 nodes", "0 and more", "write 0 or more")
    elif least == 0 and request.mode == SYSTEM:
        yield _number(
            request, field, least, "a System pool never scales to zero", "1 and more", "write 1, or make it a User pool"
        )
    if request.autoscaler and request.max_count < max(request.min_count, 1):
        message = "the autoscaler's maximum number of nodes is below its minimum"
        yield _number(request, "max_count", request.max_count, message, f"{max(request.min_count, 1)} and more", "raise it")


def _number(request: PoolRequest, field: str, value: int, message: str, allowed: str, fix: str) -> Problem:
    return Problem(
        path=request.at(field),
        message=message,
        value=value,
        allowed=allowed,
        fix=fix,
        source=str(_SCALE_PAGE),
        code=Code.IMPOSSIBLE,
    )


def _skip_driver_tag(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    for tag in request.tags:
        if tag.lower() == SKIP_DRIVER_TAG.lower():
            yield from observed.at(
                _TAG_END,
                as_of,
                Problem(
                    path=request.at("tags"),
                    message=f"AKS has rejected the tag {SKIP_DRIVER_TAG} since {_TAG_END.day.isoformat()}",
                    value=tag,
                    fix=f"remove the tag, and set the pool's driver to {NO_DRIVER}",
                    code=Code.RETIRED,
                    end=End(f"the tag {SKIP_DRIVER_TAG} on AKS", _TAG_END.day),
                ),
            )


def _node_image(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    if not request.node_image or request.size is None or request.size.series.name not in A10_SERIES:
        return
    match = re.fullmatch(_NODE_IMAGE, request.node_image)
    path = request.at("node_image")
    if match is None:
        yield Problem(
            path=path,
            message="unknown version of this node image, so its support of A10 wasn't checked",
            value=request.node_image,
            allowed="a name that ends in a version such as 202606.08.1",
            source=str(_A10_IMAGE),
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )
    elif tuple(int(part) for part in match.groups()) < A10_NODE_IMAGE:
        yield from observed.at(
            _A10_IMAGE,
            as_of,
            Problem(
                path=path,
                message="pools with an A10 need a newer node image",
                value=request.node_image,
                allowed="202606.08.1 and later",
                fix="upgrade the node image, or leave it out to get the newest",
                code=Code.WRONG_DRIVER,
            ),
        )
