"""Checks a container group together with its images against Container Instances, and proposes what runs it instead.

A problem of a retired GPU gets the size of an AKS node pool that replaces it, with its price.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from azure_gpu.catalog import offers, successors
from azure_gpu.catalog.container_cuda import check_container, cuda_at
from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.prices import Price, PriceBook
from azure_gpu.catalog.prices.container_apps import packaged_meters
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services import container_instances
from azure_gpu.catalog.services.container_apps import PROFILES
from azure_gpu.catalog.services.container_instances import CUDA_BY_DATE, GPU_SKUS, ContainerRequest, GroupRequest
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Driver, Size
from azure_gpu.catalog.sources import Source

_SERVICE = "Container Instances"


class Image(NamedTuple):
    """The image of a container and where it is written."""

    reference: str
    path: str


def check(request: GroupRequest, images: Sequence[Image], as_of: date, prices: PriceBook) -> list[Problem]:
    """Every problem of the group. `images` are those of `request.containers`, in their order; the image of a container without a
    GPU, or with one that has retired, isn't checked."""
    problems = [_with_pool(problem, request, as_of, prices) for problem in container_instances.check(request, as_of)]
    for container, image in zip(request.containers, images, strict=True):
        sku = GPU_SKUS.get(container.gpu_sku)
        if container.gpu_count is not None and sku is not None and sku.lifecycle.status(as_of) is not Status.RETIRED:
            problems += _cuda(image, container, as_of)
    return problems


@lru_cache(maxsize=256)  # groups of a file or a stack have the same GPUs in the same region
def pool_sizes(sku: str, count: int, region: str, as_of: date, prices: PriceBook) -> tuple[successors.Successor, ...]:
    """Sizes of an AKS node pool that replace `count` GPUs of a SKU, best first; none for an unknown SKU."""
    size = _size_of(sku, count)
    if size is None:
        return ()
    use = SizeUse(service=Service.AKS, size=size.name, region=region, needs=Driver.CUDA, path="", region_path="region")
    return successors.find(size, use, as_of, SIZES, prices, offers.reasons)


def _size_of(sku: str, count: int) -> Size | None:
    """The VM size on which the service ran these GPUs; for an unsupported count, the nearest."""
    if sku not in GPU_SKUS:
        return None
    family = GPU_SKUS[sku].vm_family
    of_family = [size for size in SIZES if size.series.name == family and size.gpu_count and not size.rdma]
    return min(of_family, key=lambda size: abs((size.gpu_count or Fraction(0)) - count))


def _with_pool(problem: Problem, request: GroupRequest, as_of: date, prices: PriceBook) -> Problem:
    container = next((one for one in request.containers if one.gpu_sku_path == problem.path), None)
    if container is None or problem.code not in (Code.RETIRED, Code.RETIRING):
        return problem
    pools = pool_sizes(container.gpu_sku, container.gpu_count or 0, request.location, as_of, prices)
    costs = "".join(f"; {name}: {cost.text(as_of)}" for name in problem.instead if (cost := _profile_cost(name, request, as_of)))
    such = f", such as {' or '.join(pool.text(as_of) for pool in pools)}" if pools else ""
    return problem._replace(fix=f"{problem.fix}{such}{costs}", instead=(*problem.instead, *(pool.size.name for pool in pools)))


def _profile_cost(name: str, request: GroupRequest, as_of: date) -> Price | None:
    """The price of a replica that uses a whole serverless profile of Container Apps; None if unknown."""
    profile = PROFILES.get(name)
    if profile is None or as_of < profile.lifecycle.seen.day:
        return None
    vcpus, memory_gib = Decimal(profile.vcpus), Decimal(profile.memory_gib)
    return packaged_meters().hourly_cost(vcpus, memory_gib, profile.gpu, request.location)


def _cuda(image: Image, container: ContainerRequest, as_of: date) -> Iterator[Problem]:
    """By the service's page of that day. Between two pages, the service may already have supported what the next one lists."""
    size = _size_of(container.gpu_sku, container.gpu_count or 0)
    gpu = size.gpu if size else None
    page = cuda_at(CUDA_BY_DATE, as_of)
    if page is None:
        return
    later = [other for other in CUDA_BY_DATE if other[0].day > as_of]
    between = later[0] if later and as_of > page[0].day else None

    def at_page(source: Source, highest: str) -> list[Problem]:
        return check_container(image.reference, service=_SERVICE, highest_cuda=highest, source=source, gpu=gpu, path=image.path)

    problems = at_page(*page)
    if problems and between and not at_page(*between):
        for problem in problems:
            yield problem._replace(
                message=f"{problem.message}; by {between[0].day.isoformat()} it ran up to {between[1]}, since when isn't known",
                code=Code.UNKNOWN,
                severity=Severity.WARNING,
            )
        return
    yield from problems
