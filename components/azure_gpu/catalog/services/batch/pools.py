"""Checks a whole Batch pool: its names, containers, features that Batch has ended, and everything in the other modules."""

from collections.abc import Iterator
from datetime import date, timedelta

from azure_gpu.catalog import lifecycle, names, offers
from azure_gpu.catalog.lifecycle import WARNING_DAYS
from azure_gpu.catalog.prices import PriceBook, packaged
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.batch import images, installs, mpi, packages, requirements, scale, sizes as batch
from azure_gpu.catalog.services.batch.request import PoolRequest
from azure_gpu.catalog.size_use import Service, SizeUse


def container_problems(request: PoolRequest) -> Iterator[Problem]:
    """The container configuration of the pool; nothing where it has none."""
    containers = request.containers
    if containers is None:
        return
    if request.operating_system == "Windows":
        if request.rdma:
            yield refused("batch.rdma_in_windows_containers", request.at("containers.type"), str(request.operating_system))
        if not containers.elevated:
            yield refused("batch.containers_not_elevated", request.at("containers.elevated"), containers.elevated)


COMMUNICATION_MODES = ("Default", "Simplified", "Classic")


def pool_problems(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    """Cloud Services, classic communication, default outbound access and low-priority nodes."""
    if request.cloud_services:
        yield from lifecycle.of_part("batch.cloud_services", as_of, request.at("cloud_services"), True)
    if not request.public_addresses and not request.explicit_outbound:
        yield from lifecycle.of_part("batch.default_outbound", as_of, request.at("public_addresses"), False)
    yield from _communication(request, as_of)
    if request.spot_nodes and request.allocation_mode == "BatchService":
        yield from _low_priority(request, as_of)


def _communication(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    mode = request.communication
    if not mode:
        return
    if mode not in COMMUNICATION_MODES:
        yield refused("batch.unknown_communication", request.at("communication"), mode, allowed=", ".join(COMMUNICATION_MODES))
    elif mode == "Classic":
        yield from lifecycle.of_part("batch.classic_communication", as_of, request.at("communication"), mode)


def _low_priority(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    """A warning near their end; not an error, because Batch converts them to Spot nodes."""
    end = lifecycle.PARTS["batch.low_priority"].lifecycle.end
    if end is None or not end.day - timedelta(days=WARNING_DAYS) <= as_of < batch.CONVERTED.day:
        return
    retired = as_of > end.day
    yield refused(
        "batch.low_priority",
        request.at("spot_nodes"),
        request.spot_nodes,
        source=f"{end}; {batch.CONVERTED}",
        retire="retired" if retired else "retire",
        last=end,
        converted=batch.CONVERTED.day,
    )._replace(code=Code.RETIRED if retired else Code.RETIRING)


def name_problems(request: PoolRequest) -> Iterator[Problem]:
    """The name of the pool, where it is given."""
    if request.name:
        yield from names.check("Microsoft.Batch/batchAccounts/pools", request.name, request.at("name"))


def problems(request: PoolRequest, as_of: date, *, prices: PriceBook | None = None, until: date | None = None) -> list[Problem]:
    """All problems of this pool on that day, its size included, and warnings, all at once. `until` is the
    pool's last day."""
    of_pool = lifecycle.through(lambda day: check(request, day), as_of, until)
    use = use_of(request)
    of_size = offers.check(use, as_of, prices=prices or packaged(), until=until) if use is not None else []
    return [*of_size, *of_pool]


def check(request: PoolRequest, as_of: date) -> list[Problem]:
    """The same without the general rules for the size. Empty: no known problem."""
    return [
        *name_problems(request),
        *pool_problems(request, as_of),
        *_in_cloud_services(request),
        *images.image_problems(request, as_of),
        *scale.scale_problems(request),
        *scale.slot_problems(request),
        *mpi.mpi_problems(request, as_of),
        *container_problems(request),
        *packages.reference_problems(request),
        *installs.install_problems(request, as_of),
    ]


def _in_cloud_services(request: PoolRequest) -> Iterator[Problem]:
    if request.cloud_services and request.size is not None:
        yield from requirements.cloud_services_problems(request.size, request.at("size"))


def use_of(request: PoolRequest) -> SizeUse | None:
    """The use of the pool's size for `catalog.offers`; None if neither the size nor its name is known."""
    name = request.size.name if request.size is not None else request.size_name
    if name is None:
        return None
    region_path = request.written.get("region") or request.at("location")
    return SizeUse(
        service=Service.BATCH,
        size=name,
        region=request.region,
        path=request.at("size"),
        region_path=region_path,
        nodes=max(request.nodes, 1),
        spot=bool(request.spot_nodes) and not request.dedicated_nodes,
        operating_system=request.operating_system,
        needs=request.needs,
        rdma=request.rdma,
    )
