"""Checks a whole Batch pool.

`problems` includes the rules for its size, from `catalog.offers`; `check` doesn't. Formulas are parsed by
`formats.autoscale_formula`.
"""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog import lifecycle, offers
from azure_gpu.catalog.prices import PriceBook, packaged
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.batch import containers, features, images, installs, mpi, names, packages, requirements, scale
from azure_gpu.catalog.services.batch.request import PoolRequest
from azure_gpu.catalog.size_use import Service, SizeUse


def problems(request: PoolRequest, as_of: date, *, prices: PriceBook | None = None, until: date | None = None) -> list[Problem]:
    """All problems of this pool on that day, its size included, and warnings, all at once. `until` is the
    pool's last day."""
    of_pool = lifecycle.through(lambda day: check(request, day), as_of, until)
    return [*_of_size(request, as_of, prices or packaged(), until), *of_pool]


def check(request: PoolRequest, as_of: date) -> list[Problem]:
    """The same without the general rules for the size. Empty: no known problem."""
    return list(_all(request, as_of))


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


def _of_size(request: PoolRequest, as_of: date, prices: PriceBook, until: date | None) -> list[Problem]:
    use = use_of(request)
    return offers.check(use, as_of, prices=prices, until=until) if use is not None else []


def _all(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    yield from names.name_problems(request)
    yield from features.pool_problems(request, as_of)
    if request.cloud_services and request.size is not None:
        yield from requirements.cloud_services_problems(request.size, request.at("size"))
    yield from images.image_problems(request, as_of)
    yield from scale.scale_problems(request)
    yield from scale.slot_problems(request)
    yield from mpi.mpi_problems(request, as_of)
    yield from containers.container_problems(request)
    yield from packages.reference_problems(request)
    yield from installs.install_problems(request, as_of)
