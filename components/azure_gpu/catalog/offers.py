"""Checks whether a service offers a VM size, in a region on a day: the general rules, and those of each service.

A problem of a size that isn't available gets replacements with their prices.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date

from azure_gpu.catalog import lifecycle, listed, regions, sources, successors
from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.prices import PriceBook
from azure_gpu.catalog.problems import Code, Problem, not_listed
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.size_use import OperatingSystem, Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.lookup import Sizes
from azure_gpu.catalog.sizes.model import Driver, Size
from azure_gpu.catalog.sources import Source

# Which drivers let software run that calls one of them; GRID carries CUDA too.
# Source: Microsoft Learn, virtual-machines/linux/n-series-driver-setup.
RUNS_WITH: Mapping[Driver, tuple[Driver, ...]] = {
    Driver.CUDA: (Driver.CUDA, Driver.GRID),
    Driver.GRID: (Driver.GRID,),
    Driver.ROCM: (Driver.ROCM,),
    Driver.AMD_GRAPHICS: (Driver.AMD_GRAPHICS,),
}

_LISTING = "`az vm list-skus --location {} --resource-type virtualMachines` lists what is sold there"
_SOLD = (Status.GENERAL, Status.PREVIEW)

OfService = Callable[[Size, SizeUse, date], Iterable[Problem]]


def of_service(service: Service) -> OfService | None:
    """A service's rules for sizes, loaded on demand; None for a service that doesn't run VM sizes."""
    match service:
        case Service.VIRTUAL_MACHINES:
            from azure_gpu.catalog.services import virtual_machines

            return virtual_machines.size_problems
        case Service.BATCH:
            from azure_gpu.catalog.services.batch import sizes as batch

            return batch.size_problems
        case Service.AKS:
            from azure_gpu.catalog.services.aks import sizes

            return sizes.size_problems
        case Service.ML_COMPUTE | Service.ML_ENDPOINT:
            from azure_gpu.catalog.services.machine_learning import compute

            return compute.size_problems
        case Service.STACK_EDGE:
            from azure_gpu.catalog.services import stack_edge

            return stack_edge.size_problems
        case Service.CONTAINER_INSTANCES | Service.CONTAINER_APPS:
            return None


# Problems that get a replacement; for an unknown size, the nearest names are proposed instead.
_NEEDS_REPLACEMENT = {Code.RETIRED, Code.RETIRING, Code.NOT_OFFERED, Code.NOT_IN_REGION, Code.WRONG_DRIVER, Code.IMPOSSIBLE}


def check(use: SizeUse, as_of: date, *, prices: PriceBook, sizes: Sizes = SIZES, until: date | None = None) -> list[Problem]:
    """All problems of this use on that day, with replacements, and every end before `until`, the last day of the
    use. Empty: no known problem."""
    if use.service is Service.CONTAINER_APPS:
        return lifecycle.through(lambda day: _workload_profile(use, day), as_of, until)
    if use.service is Service.CONTAINER_INSTANCES:
        return lifecycle.through(lambda day: _gpu_sku(use, day), as_of, until)
    size = sizes.find(use.size)
    if size is None:
        return _without_gpu(use, as_of, until, sizes)
    problems = lifecycle.through(lambda day: reasons(size, use, day, prices), as_of, until)
    if not any(problem.code in _NEEDS_REPLACEMENT for problem in problems):
        return problems
    found = successors.find(size, use, as_of, sizes, prices, reasons)
    return [_with(problem, found, use, as_of) if problem.code in _NEEDS_REPLACEMENT else problem for problem in problems]


def _without_gpu(use: SizeUse, as_of: date, until: date | None, sizes: Sizes) -> list[Problem]:
    """The problems of a size that isn't in the table of GPU sizes: one without a GPU, or an unknown one."""
    from azure_gpu.catalog.services.machine_learning import endpoints
    from azure_gpu.catalog.sizes import cpu_series

    found = lifecycle.through(lambda day: cpu_series.check(use.size, day, use.path), as_of, until)
    if use.service is Service.ML_ENDPOINT and endpoints.has_gpu(use.size) is False:
        return [*found, *endpoints.unlisted(use.size, use.path)]
    return found or [sizes.unknown(use.size, use.path)]


def _workload_profile(use: SizeUse, as_of: date) -> list[Problem]:
    """For Container Apps, the size is the type of a workload profile."""
    from azure_gpu.catalog.services.container_apps import profile_problems

    return profile_problems(use.size, use.region, as_of, path=use.path, location_path=use.region_path)


def _gpu_sku(use: SizeUse, as_of: date) -> list[Problem]:
    """For Container Instances, the size is a GPU SKU, and `nodes` the number of GPUs."""
    from azure_gpu.catalog.services import container_instances

    container = container_instances.ContainerRequest(
        name="gpu",
        cpu=container_instances.DEFAULT_CPU,
        memory_gb=container_instances.DEFAULT_MEMORY_GB,
        gpu_count=use.nodes,
        gpu_sku=use.size,
        cpu_path=use.path,
        memory_path=use.path,
        gpu_count_path=use.path,
        gpu_sku_path=use.path,
    )
    request = container_instances.GroupRequest(
        location=use.region,
        os_type=use.operating_system,
        in_virtual_network=False,
        containers=(container,),
        spot=use.spot,
        location_path=use.region_path,
        os_type_path=use.path,
        network_path=use.path,
        spot_path=use.path,
    )
    return container_instances.check(request, as_of)


def reasons(size: Size, use: SizeUse, as_of: date, prices: PriceBook) -> Iterator[Problem]:
    """The problems of this use, without replacements."""
    ends = lifecycle.check(size.lifecycle, size.name, as_of, path=use.path, value=use.size, region=use.region)
    yield from ends
    yield from _restricted(size, use)
    yield from _driver(size, use)
    yield from _network(size, use)
    if not any(problem.code is Code.RETIRED for problem in ends):  # the regions of a retired size don't matter
        yield from _region(size, use, as_of, prices)
    rules = of_service(use.service)
    if rules is not None:
        yield from rules(size, use, as_of)


def only_system(size: Size) -> OperatingSystem:
    """The default operating system of a size: Linux, except for sizes that run only Windows."""
    return "Windows" if size.series.windows_only else "Linux"


def use_of(size: Size, service: Service, region: str = "", *, rdma: bool = False) -> SizeUse:
    """The use of a size that isn't in a user's input, as in a list of sizes."""
    return SizeUse(
        service=service,
        size=size.name,
        region=region,
        operating_system=only_system(size),
        rdma=rdma,
        path="size",
        region_path="region",
    )


def _with(problem: Problem, found: tuple[successors.Successor, ...], use: SizeUse, as_of: date) -> Problem:
    """The problem with replacements, or if none is known, with where to look."""
    if problem.instead or (not found and (problem.fix or not use.region)):
        return problem
    listing = _LISTING.format(regions.normalise(use.region))
    proposal = "choose " + ", or ".join(successor.text(as_of) for successor in found) if found else listing
    fix = f"{problem.fix}; else {proposal}" if problem.fix else proposal
    return problem._replace(fix=fix, instead=tuple(successor.size.name for successor in found))


def _sources(size: Size) -> str:
    return "; ".join(str(source) for source in size.series.sources)


def _restricted(size: Size, use: SizeUse) -> Iterator[Problem]:
    if size.series.restricted:
        yield refused("size.by_agreement", use.path, use.size, source=_sources(size), size=size)


def _driver(size: Size, use: SizeUse) -> Iterator[Problem]:
    drivers = size.series.drivers
    known = size.gpu is not None or size.gpu_count is not None
    if use.needs is not None and known and not set(RUNS_WITH[use.needs]) & set(drivers):
        gpu = f"its GPU is {size.gpu.model}" if size.gpu else "it has no GPU"
        yield refused(
            "size.other_driver",
            use.path,
            use.size,
            source=str(size.gpu.source) if size.gpu else _sources(size),
            size=size,
            use=use,
            gpu=gpu,
            drivers=" or ".join(RUNS_WITH[use.needs]),
        )
    if size.series.windows_only and use.operating_system == "Linux":
        yield refused("size.windows_only", use.path, use.size, source=_sources(size), size=size)


def _network(size: Size, use: SizeUse) -> Iterator[Problem]:
    if use.rdma and not size.rdma:
        yield refused("size.no_infiniband", use.path, use.size, source=_sources(size), size=size)


def _region(size: Size, use: SizeUse, as_of: date, prices: PriceBook) -> Iterator[Problem]:
    """A warning if a size has no price in the region: with prices elsewhere, it is probably not sold there."""
    region = regions.normalise(use.region)
    if region not in regions.known() or prices.on_demand(size.name, region) is not None or use.service is Service.STACK_EDGE:
        return
    if listed.has("VM sizes", region, size.name):
        return  # Azure sells it there, at a price that isn't known
    elsewhere = [(name, price) for name in prices.regions_of(size.name) if (price := prices.on_demand(size.name, name))]
    newest = max((price for _, price in elsewhere), key=lambda price: price.day, default=None)
    if newest is None and size.gpu_count and size.lifecycle.status(as_of, region) in _SOLD:
        yield refused(
            "size.not_listed_anywhere", use.region_path, use.region, fix=_LISTING.format(region), size=size, region=region
        )
    if newest is None or newest.day > as_of:
        return  # the price lists don't speak of that day
    if not sources.holds("prices", newest.day, as_of):
        source = Source(newest.source, "observed on", newest.day)
        yield not_listed(use.region_path, f"a price of {size.name} in {region}", use.region, source, _LISTING.format(region))
        return
    yield refused(
        "size.no_price_there",
        use.region_path,
        use.region,
        source=f"{newest.source}, {newest.day.isoformat()}",
        size=size,
        region=region,
        priced=", ".join(sorted(name for name, _ in elsewhere)),
    )
