"""What Azure Container Instances (ACI) takes: GPU SKUs with their limits, regions and ends, and what a group takes without a GPU.

In: a `GroupRequest`, in which whoever asks says where each value was written, and the day at which it is asked. Out: every
problem. The rules are per group, because all containers of a group share one machine.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from catalog import regions
from catalog.problems import Code, Problem, Severity
from catalog.sources import Dated, Source

GPU_COUNTS = (1, 2, 4)
WARNING_DAYS = 180  # a retirement this near is worth a warning
DEFAULT_CPU = 1.0  # what Azure's own clients ask for where the user says nothing; ARM itself has no default
DEFAULT_MEMORY_GB = 1.5
DEFAULTS_SOURCE = Source("Azure/aci-deploy issue 56, the inputs `cpu` and `memory`", Dated.OBSERVED, date(2021, 7, 22))

SUCCESSOR = (
    "run it on Container Apps serverless GPUs (workload profile Consumption-GPU-NC8as-T4 or Consumption-GPU-NC24-A100), "
    "or on a GPU node pool of AKS"
)

_GPU_PAGE = Source("Microsoft Learn, container-instances/container-instances-gpu", Dated.OBSERVED, date(2025, 11, 17))
_LIMITS = Source("Microsoft Learn, includes/container-instances-gpu-limits", Dated.OBSERVED, date(2022, 6, 14))
_REGIONS = Source("Microsoft Learn, includes/container-instances-gpu-regions", Dated.OBSERVED, date(2019, 10, 17))
_QUOTA = Source("Microsoft Learn, container-instances-resource-and-quota-limits", Dated.OBSERVED, date(2025, 11, 17))
_K80_P100_END = Source("Microsoft Learn, container-instances/container-instances-gpu", Dated.VALID_FROM, date(2023, 8, 31))
_FEATURE_END = Source(
    "Microsoft Learn, container-instances-resource-and-quota-limits: GPU resources retired", Dated.VALID_FROM, date(2025, 7, 14)
)


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that a group may ask for."""

    cpu: float
    memory_gb: float
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSku:
    """One GPU model as the service sold it."""

    name: str
    vm_family: str
    limits: Mapping[int, Limit]  # by the number of GPUs
    regions: frozenset[str]
    regions_source: Source
    end: Source  # its day is the last on which the SKU was sold


def _limits(cpu: float, memory_gb: float) -> dict[int, Limit]:
    """The limits grow with the number of GPUs."""
    return {count: Limit(cpu * count, memory_gb * count, _LIMITS) for count in GPU_COUNTS}


GPU_SKUS: dict[str, GpuSku] = {
    "K80": GpuSku(
        name="K80",
        vm_family="NC",
        limits=_limits(6, 56),
        regions=frozenset({"eastus", "westeurope", "westus2", "northeurope"}),
        regions_source=_REGIONS,
        end=_K80_P100_END,
    ),
    "P100": GpuSku(
        name="P100",
        vm_family="NCv2",
        limits=_limits(6, 112),
        regions=frozenset({"eastus", "westeurope", "westus2", "southeastasia"}),
        regions_source=_REGIONS,
        end=_K80_P100_END,
    ),
    "V100": GpuSku(
        name="V100",
        vm_family="NCv3",
        limits=_limits(6, 112),
        regions=frozenset({"eastus", "westeurope", "westus2", "southeastasia", "centralindia"}),
        regions_source=_REGIONS,
        end=_FEATURE_END,
    ),
}
WITHOUT_GPU = Limit(31, 240, _QUOTA)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerRequest:
    """What one container asks for, and where each value was written."""

    name: str
    cpu: float
    memory_gb: float
    gpu_count: int | None = None  # None: no GPU
    gpu_sku: str = ""
    cpu_path: str
    memory_path: str
    gpu_count_path: str = ""
    gpu_sku_path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRequest:
    """What one group asks for, and where each value was written."""

    location: str
    os_type: str  # Linux or Windows
    in_virtual_network: bool
    containers: tuple[ContainerRequest, ...]
    location_path: str
    os_type_path: str
    network_path: str


def check(request: GroupRequest, as_of: date) -> list[Problem]:
    """Every reason for which the service refuses `request` on `as_of`, and a warning where an end is near. Empty: it is taken."""
    with_gpu = [container for container in request.containers if container.gpu_count is not None]
    problems = [problem for container in request.containers for problem in _amounts(container)]
    problems += [problem for container in with_gpu for problem in _gpu(container, as_of)]
    if with_gpu:
        problems += _surroundings(request, with_gpu)
    problems += _limit(request, with_gpu)
    return problems


def _amounts(container: ContainerRequest) -> Iterator[Problem]:
    for path, value, unit in ((container.cpu_path, container.cpu, "CPU"), (container.memory_path, container.memory_gb, "GB")):
        if value <= 0:
            yield Problem(
                path=path,
                message=f"container {container.name!r} has to ask for more than 0 {unit}",
                value=value,
                allowed="a number above 0",
                fix=f"ask for what the work needs; usual is {DEFAULT_CPU:g} CPU and {DEFAULT_MEMORY_GB:g} GB",
            )


def _gpu(container: ContainerRequest, as_of: date) -> Iterator[Problem]:
    if container.gpu_count not in GPU_COUNTS:
        yield Problem(
            path=container.gpu_count_path,
            message="Container Instances gave a container 1, 2 or 4 GPUs",
            value=container.gpu_count,
            allowed="1, 2, 4",
            fix=f"write {_nearest(container.gpu_count or 0)}",
            source=str(_GPU_PAGE),
            code=Code.IMPOSSIBLE,
        )
    sku = GPU_SKUS.get(container.gpu_sku)
    if sku is None:
        yield Problem(
            path=container.gpu_sku_path,
            message="Container Instances never had a GPU SKU of this name",
            value=container.gpu_sku,
            allowed=", ".join(GPU_SKUS),
            fix=SUCCESSOR if as_of > _FEATURE_END.day else "write one of the three, in capitals",
            source=str(_GPU_PAGE),
            code=Code.IMPOSSIBLE,
        )
    yield from _retirement(container, sku.name if sku else "", sku.end if sku else _FEATURE_END, as_of)


def _nearest(count: int) -> int:
    return min(GPU_COUNTS, key=lambda allowed: (abs(allowed - count), -allowed))


def _retirement(container: ContainerRequest, sku: str, end: Source, as_of: date) -> Iterator[Problem]:
    what = f"the GPU SKU {sku}" if sku else "every GPU"
    if as_of > end.day:
        message = f"{what} of Container Instances was retired on {end.day.isoformat()}"
        if end is not _FEATURE_END and as_of > _FEATURE_END.day:
            message += f", and every GPU with it on {_FEATURE_END.day.isoformat()}"
        yield Problem(
            path=container.gpu_sku_path,
            message=f"{message}; asked as of {as_of.isoformat()}",
            value=container.gpu_sku,
            fix=_successor(as_of),
            source=str(end),
            code=Code.RETIRED,
        )
    elif as_of >= end.day - timedelta(days=WARNING_DAYS):
        yield Problem(
            path=container.gpu_sku_path,
            message=f"{what} of Container Instances retires on {end.day.isoformat()}, {(end.day - as_of).days} days from now",
            value=container.gpu_sku,
            fix=_successor(as_of),
            source=str(end),
            code=Code.RETIRING,
            severity=Severity.WARNING,
        )


def _successor(as_of: date) -> str:
    """What works instead on that day: between the two ends, V100 was still there."""
    still_v100 = _K80_P100_END.day < as_of <= _FEATURE_END.day
    return f"write V100, until {_FEATURE_END.day.isoformat()}; after it, {SUCCESSOR}" if still_v100 else SUCCESSOR


def _surroundings(request: GroupRequest, with_gpu: list[ContainerRequest]) -> Iterator[Problem]:
    if request.os_type != "Linux":
        yield Problem(
            path=request.os_type_path,
            message="a container group with a GPU runs Linux only",
            value=request.os_type,
            allowed="Linux",
            fix="write Linux, or leave the GPU out",
            source=str(_GPU_PAGE),
            code=Code.IMPOSSIBLE,
        )
    if request.in_virtual_network:
        yield Problem(
            path=request.network_path,
            message="a container group with a GPU can't be in a virtual network",
            allowed="no subnet",
            fix="leave the subnet out, or leave the GPU out",
            source=str(_GPU_PAGE),
            code=Code.IMPOSSIBLE,
        )
    location = regions.normalise(request.location)
    for name in sorted({container.gpu_sku for container in with_gpu} & GPU_SKUS.keys()):
        sku = GPU_SKUS[name]
        if location not in sku.regions:
            elsewhere = sorted(other for other in GPU_SKUS if location in GPU_SKUS[other].regions)
            yield Problem(
                path=request.location_path,
                message=f"Container Instances had no {name} in this region",
                value=request.location,
                allowed=", ".join(sorted(sku.regions)),
                fix=f"choose one of these regions{', or the SKU ' + ' or '.join(elsewhere) if elsewhere else ''}",
                source=str(sku.regions_source),
                code=Code.NOT_IN_REGION,
            )


def _limit(request: GroupRequest, with_gpu: list[ContainerRequest]) -> list[Problem]:
    """CPU and memory of the whole group against what its GPUs, or the lack of them, allow."""
    skus = {container.gpu_sku for container in with_gpu}
    if len(skus) > 1:
        return [
            Problem(
                path=with_gpu[1].gpu_sku_path,
                message="all containers of a group share one machine, so they ask for the same GPU SKU",
                value=", ".join(sorted(skus)),
                allowed="one SKU per group",
                fix="put them into groups of their own",
                code=Code.IMPOSSIBLE,
            )
        ]
    count = sum(container.gpu_count or 0 for container in with_gpu)
    if not with_gpu:
        return _over("a group without a GPU", request, WITHOUT_GPU, "")
    sku = GPU_SKUS.get(with_gpu[0].gpu_sku)
    if sku is None or any(container.gpu_count not in GPU_COUNTS for container in with_gpu):
        return []  # said above; there is no limit to compare with
    if count not in sku.limits:
        return [
            Problem(
                path=with_gpu[-1].gpu_count_path,
                message=f"the containers of this group ask for {count} GPUs together",
                value=count,
                allowed="1, 2 or 4 in a group",
                fix="put them into groups of their own",
                source=str(_GPU_PAGE),
                code=Code.IMPOSSIBLE,
            )
        ]
    more = "" if count == max(GPU_COUNTS) else ", or for more GPUs"
    return _over(f"a group with {count} {sku.name}", request, sku.limits[count], more)


def _over(what: str, request: GroupRequest, limit: Limit, or_else: str) -> list[Problem]:
    cpu = sum(container.cpu for container in request.containers)
    memory_gb = sum(container.memory_gb for container in request.containers)
    allowed = f"at most {limit.cpu:g} CPU and {limit.memory_gb:g} GB"
    together = "" if len(request.containers) == 1 else ", all containers together"
    amounts = (
        (cpu, limit.cpu, "CPU", max(request.containers, key=lambda one: one.cpu, default=None)),
        (memory_gb, limit.memory_gb, "GB of memory", max(request.containers, key=lambda one: one.memory_gb, default=None)),
    )
    return [
        Problem(
            path=largest.cpu_path if unit == "CPU" else largest.memory_path,
            message=f"{what} has at most {most:g} {unit}{together}",
            value=amount,
            allowed=allowed,
            fix=f"ask for {most:g} or less{or_else}",
            source=str(limit.source),
            code=Code.IMPOSSIBLE,
        )
        for amount, most, unit, largest in amounts
        if largest is not None and amount > most
    ]
