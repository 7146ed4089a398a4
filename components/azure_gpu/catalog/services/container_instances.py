"""Azure Container Instances: its GPUs until they were retired, and the CPU and memory of a group."""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import lifecycle, regions, sources
from azure_gpu.catalog.lifecycle import Lifecycle, Status
from azure_gpu.catalog.problems import Problem, not_listed
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import container_apps
from azure_gpu.catalog.sources import Source, observed, valid_from

GPU_COUNTS = (1, 2, 4)
STANDARD = "Standard"  # the default SKU of a group
# The defaults of Azure's clients; ARM has none. Source: Azure/aci-deploy issue 56, the inputs `cpu` and `memory` (2021-07-22).
DEFAULT_CPU = 1.0
DEFAULT_MEMORY_GB = 1.5

# The page that the first source document is a translation of; the feature was in preview in it, and never left it.
FIRST_PAGE = observed("Microsoft Learn, container-instances/container-instances-gpu", 2019, 4, 17)
# The page on which both retiring SKUs and a newer CUDA appear.
PAGE_2022 = observed("Microsoft Learn, container-instances/container-instances-gpu", 2022, 6, 17)
LAST_PAGE = observed("Microsoft Learn, container-instances/container-instances-gpu", 2025, 11, 17)
QUOTA_PAGE = observed("Microsoft Learn, container-instances-resource-and-quota-limits", 2025, 11, 17)
# An earlier version of the same page, the last in which Spot groups were read.
SPRING_PAGE = observed("Microsoft Learn, container-instances-resource-and-quota-limits", 2025, 3, 27)
_LIMITS = observed("Microsoft Learn, includes/container-instances-gpu-limits", 2022, 6, 14)
_REGIONS = observed("Microsoft Learn, includes/container-instances-gpu-regions", 2019, 10, 17)
_K80_P100_END = valid_from("Microsoft Learn, container-instances/container-instances-gpu", 2023, 8, 31)
_FEATURE_END = valid_from("Microsoft Learn, container-instances-resource-and-quota-limits: GPU resources retired", 2025, 7, 14)

# The newest CUDA version that the service's own driver runs, as its page gave it on that day; newest page last.
CUDA_BY_DATE: tuple[tuple[Source, str], ...] = ((FIRST_PAGE, "9.0"), (PAGE_2022, "11"), (LAST_PAGE, "11"))

# Regions of the earlier list, which has no SKUs, that aren't in the later list by SKU.
REGIONS_UNTIL_2019_10 = frozenset({"southcentralus", "eastasia"})


class Limit(NamedTuple):
    """The maximum resources of a group."""

    cpu: float
    memory_gb: float
    source: Source


class GpuSku(NamedTuple):
    """One GPU model as the service sold it."""

    name: str
    vm_family: str
    limits: Mapping[int, Limit]  # by the number of GPUs
    regions: frozenset[str]
    regions_source: Source
    lifecycle: Lifecycle


def _limits(cpu: float, memory_gb: float) -> dict[int, Limit]:
    """The limits grow with the number of GPUs."""
    return {count: Limit(cpu * count, memory_gb * count, _LIMITS) for count in GPU_COUNTS}


GPU_FEATURE = Lifecycle(seen=FIRST_PAGE, preview=True, end=_FEATURE_END)
_K80_P100 = Lifecycle(seen=FIRST_PAGE, preview=True, announced=PAGE_2022, end=_K80_P100_END)

GPU_SKUS: dict[str, GpuSku] = {
    "K80": GpuSku(
        name="K80",
        vm_family="NC",
        limits=_limits(6, 56),
        regions=frozenset({"eastus", "westeurope", "westus2", "northeurope"}),
        regions_source=_REGIONS,
        lifecycle=_K80_P100,
    ),
    "P100": GpuSku(
        name="P100",
        vm_family="NCv2",
        limits=_limits(6, 112),
        regions=frozenset({"eastus", "westeurope", "westus2", "southeastasia"}),
        regions_source=_REGIONS,
        lifecycle=_K80_P100,
    ),
    "V100": GpuSku(
        name="V100",
        vm_family="NCv3",
        limits=_limits(6, 112),
        regions=frozenset({"eastus", "westeurope", "westus2", "southeastasia", "centralindia"}),
        regions_source=_REGIONS,
        lifecycle=GPU_FEATURE,
    ),
}
WITHOUT_GPU = Limit(31, 240, QUOTA_PAGE)
IN_SPOT = Limit(4, 16, SPRING_PAGE)
CONFIDENTIAL = "Confidential"
IN_CONFIDENTIAL = Limit(31, 180, QUOTA_PAGE)


class ContainerRequest(NamedTuple):
    """What one container requests, and where each value was written."""

    name: str
    cpu: float
    memory_gb: float
    cpu_path: str
    memory_path: str
    gpu_count: int | None = None  # None: no GPU
    gpu_sku: str = ""
    gpu_count_path: str = ""
    gpu_sku_path: str = ""


class GroupRequest(NamedTuple):
    """What one group requests, and where each value was written."""

    location: str
    os_type: str  # Linux or Windows
    in_virtual_network: bool
    containers: tuple[ContainerRequest, ...]
    location_path: str
    os_type_path: str
    network_path: str
    spot: bool = False
    inbound: bool = False  # an IP address with ports
    sku: str = STANDARD  # of the group: Standard, Dedicated or Confidential
    spot_path: str = ""  # needed with `spot`


def check(request: GroupRequest, as_of: date) -> list[Problem]:
    """All problems of `request` on `as_of`, and a warning near an end. Empty: no problem."""
    with_gpu = [container for container in request.containers if container.gpu_count is not None]
    problems = [problem for container in request.containers for problem in _amounts(container)]
    problems += [problem for container in with_gpu for problem in _gpu(container, request.location, as_of)]
    if with_gpu:
        problems += _environment(request)
        problems += _regions(request, with_gpu, as_of)
    if request.spot:
        problems += _spot(request, with_gpu)
    problems += _limit(request, with_gpu)
    return problems


def _amounts(container: ContainerRequest) -> Iterator[Problem]:
    for path, value, unit in ((container.cpu_path, container.cpu, "CPU"), (container.memory_path, container.memory_gb, "GB")):
        if value <= 0:
            yield refused(
                "aci.nothing_requested",
                path,
                value,
                container=container,
                unit=unit,
                default_cpu=DEFAULT_CPU,
                default_memory_gb=DEFAULT_MEMORY_GB,
            )


def _gpu(container: ContainerRequest, location: str, as_of: date) -> Iterator[Problem]:
    if container.gpu_count not in GPU_COUNTS:
        yield refused("aci.gpu_count", container.gpu_count_path, container.gpu_count, nearest=_nearest(container.gpu_count or 0))
    sku = GPU_SKUS.get(container.gpu_sku)
    retired = GPU_FEATURE.status(as_of) is Status.RETIRED
    fix, instead = successor(as_of, location)
    if sku is None:
        yield refused(
            "aci.unknown_sku",
            container.gpu_sku_path,
            container.gpu_sku,
            allowed=", ".join(GPU_SKUS),
            fix=fix if retired else "write one of the three, in capitals",
            instead=instead if retired else (),
        )
    if retired and sku is not None and sku.lifecycle is not GPU_FEATURE:
        fix = f"every GPU of the service retired on {_FEATURE_END.day.isoformat()}: {fix}"
    yield from lifecycle.check(
        sku.lifecycle if sku else GPU_FEATURE,
        f"the GPU SKU {sku.name} of Container Instances" if sku else "every GPU of Container Instances",
        as_of,
        path=container.gpu_sku_path,
        value=container.gpu_sku,
        fix=fix,
        instead=instead,
    )


def _nearest(count: int) -> int:
    return min(GPU_COUNTS, key=lambda allowed: (abs(allowed - count), -allowed))


def successor(as_of: date, location: str) -> tuple[str, tuple[str, ...]]:
    """What to do instead on that day and in that region, as an instruction and as names, best first.

    Between the two ends V100 was still there; Container Apps has GPUs since its serverless profiles; AKS is what Azure's notice
    of 2023 names.
    """
    everywhere = container_apps.serverless_on(as_of)
    there = tuple(name for name in everywhere if regions.normalise(location) in container_apps.PROFILES[name].regions)
    serverless = there or everywhere
    where = "" if there else ", in another region"
    managed = f"on Container Apps serverless GPUs (workload profile {' or '.join(serverless)}{where}), or " if serverless else ""
    move = f"run it {managed}on a GPU node pool of AKS"
    if _K80_P100.status(as_of) is Status.RETIRED and GPU_FEATURE.status(as_of) is not Status.RETIRED:
        return f"write V100, until {_FEATURE_END.day.isoformat()}; after it, {move}", ("V100", *serverless)
    return move, serverless


def _environment(request: GroupRequest) -> Iterator[Problem]:
    if request.os_type != "Linux":
        yield refused("aci.gpu_on_windows", request.os_type_path, request.os_type)
    if request.in_virtual_network:
        yield refused("aci.gpu_in_network", request.network_path)


def _regions(request: GroupRequest, with_gpu: list[ContainerRequest], as_of: date) -> Iterator[Problem]:
    location = regions.normalise(request.location)
    for name in sorted({container.gpu_sku for container in with_gpu} & GPU_SKUS.keys()):
        sku = GPU_SKUS[name]
        if location in sku.regions:
            continue
        if location in REGIONS_UNTIL_2019_10 and as_of < _REGIONS.day:
            yield refused(
                "aci.region_without_models",
                request.location_path,
                request.location,
                allowed=", ".join(sorted(sku.regions)),
                sku=name,
            )
            continue
        allowed = ", ".join(sorted(sku.regions))
        if not sources.holds("lists", sku.regions_source.day, as_of):
            fix = "ask for the region's capabilities: Microsoft.ContainerInstance/locations/capabilities"
            what = f"{name} of Container Instances in {location}"
            yield not_listed(request.location_path, what, request.location, sku.regions_source, fix, allowed=allowed)
            continue
        elsewhere = sorted(other for other in GPU_SKUS if location in GPU_SKUS[other].regions)
        yield refused(
            "aci.sku_not_there",
            request.location_path,
            request.location,
            allowed=allowed,
            source=sku.regions_source,
            elsewhere=", or the SKU " + " or ".join(elsewhere) if elsewhere else "",
            sku=name,
        )


def _spot(request: GroupRequest, with_gpu: list[ContainerRequest]) -> Iterator[Problem]:
    """The problems of a Spot group, with the service's error codes."""
    refusals = (
        (bool(with_gpu), "a GPU", "SpotPriorityContainerGroupWithGPUResourcesNotSupported"),
        (request.inbound, "inbound ports", "SpotPriorityContainerGroupNotSupportedForInboundConnectivity"),
        (request.sku != STANDARD, f"the SKU {request.sku}", "SpotPriorityContainerGroupNotSupportedInSku"),
    )
    for doubted, what, answer in refusals:
        if doubted:
            yield refused("aci.spot", request.spot_path, "Spot", what=what, answer=answer, standard=STANDARD)


def _limit(request: GroupRequest, with_gpu: list[ContainerRequest]) -> list[Problem]:
    """Checks CPU and memory of the whole group against the limit of its GPUs, or of a group without a GPU."""
    skus = {container.gpu_sku for container in with_gpu}
    if len(skus) > 1:
        return [refused("aci.several_skus", with_gpu[1].gpu_sku_path, ", ".join(sorted(skus)))]
    count = sum(container.gpu_count or 0 for container in with_gpu)
    if not with_gpu and request.spot:
        return _over("a Spot group", request, IN_SPOT, ", or leave Spot out")
    if not with_gpu and request.sku == CONFIDENTIAL:
        return _over("a confidential group", request, IN_CONFIDENTIAL, "")
    if not with_gpu:
        return _over("a group without a GPU", request, WITHOUT_GPU, "")
    sku = GPU_SKUS.get(with_gpu[0].gpu_sku)
    if sku is None or any(container.gpu_count not in GPU_COUNTS for container in with_gpu):
        return []  # reported above; there is no limit to compare with
    if count not in sku.limits:
        return [refused("aci.gpus_in_total", with_gpu[-1].gpu_count_path, count)]
    more = "" if count == max(GPU_COUNTS) else ", or request more GPUs"
    return _over(f"a group with {count} {sku.name}", request, sku.limits[count], more)


def _together(request: GroupRequest) -> tuple[float, float]:
    """CPU and memory of all containers."""
    return sum(one.cpu for one in request.containers), sum(one.memory_gb for one in request.containers)


def _over(what: str, request: GroupRequest, limit: Limit, or_else: str) -> list[Problem]:
    cpu, memory_gb = _together(request)
    together = "" if len(request.containers) == 1 else ", in total of all containers"
    amounts = (
        (cpu, limit.cpu, "CPU", max(request.containers, key=lambda one: one.cpu, default=None)),
        (memory_gb, limit.memory_gb, "GB of memory", max(request.containers, key=lambda one: one.memory_gb, default=None)),
    )
    return [
        refused(
            "aci.group_too_large",
            largest.cpu_path if unit == "CPU" else largest.memory_path,
            amount,
            source=limit.source,
            what=what,
            most=most,
            unit=unit,
            together=together,
            limit=limit,
            or_else=or_else,
        )
        for amount, most, unit, largest in amounts
        if largest is not None and amount > most
    ]
