"""Searches VM sizes by their properties: "two A100 with 80 GB in westeurope for AKS, cheapest first"."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from azure_gpu.catalog import offers, regions, successors
from azure_gpu.catalog.prices import Price, PriceBook
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.size_use import TAKES_SIZES, Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.lookup import Sizes
from azure_gpu.catalog.sizes.model import Driver, Size


class SizeQuery(NamedTuple):
    """The properties that a size must have. None or empty: any."""

    service: Service = Service.VIRTUAL_MACHINES
    region: str = ""
    gpu: str = ""  # words of the model's name: A100, H100 NVL, RTX PRO 6000
    gpus: Fraction | None = None  # exactly, or with `at_least` as a minimum
    at_least: bool = False
    gpu_memory_gib: int | None = None  # on each GPU, at least
    vcpus: int | None = None  # at least
    needs: Driver | None = None  # that the software calls
    rdma: bool = False
    mig: bool = False
    spot: bool = False  # order by Spot prices
    most_usd_hour: Decimal | None = None
    instead_of: Size | None = None  # neither it nor what retires takes its place


class Match(NamedTuple):
    """A size that fits. Without a region in the query, price and region are the cheapest ones."""

    size: Size
    price: Price | None  # None: not known
    region: str
    remarks: tuple[str, ...]  # warnings, such as of a retirement


class LeftOut(NamedTuple):
    size: Size
    reasons: tuple[str, ...]


class SearchResult(NamedTuple):
    """The sizes that fit, cheapest first, and every other size with the reasons."""

    matches: tuple[Match, ...]
    left_out: tuple[LeftOut, ...]


def like(size: Size, query: SizeQuery) -> SizeQuery:
    """The query for sizes that replace `size`: its driver, at least its GPUs and their memory, unless the query sets them.

    A size without a GPU, for MPI, is replaced by one without a GPU, with at least its vCPUs, and InfiniBand if it has it.
    """
    for_mpi = size.gpu_count == 0 and query.gpus is None and not query.gpu
    return query._replace(
        instead_of=size,
        needs=query.needs or successors.usual_driver(size),
        gpus=size.gpu_count if query.gpus is None else query.gpus,
        at_least=query.at_least or (query.gpus is None and not for_mpi),
        vcpus=size.vcpus if for_mpi and query.vcpus is None else query.vcpus,
        rdma=query.rdma or (for_mpi and size.rdma),
        gpu_memory_gib=_rounded(size.gpu_memory_each_gib) if query.gpu_memory_gib is None else query.gpu_memory_gib,
    )


def check(query: SizeQuery, sizes: Sizes = SIZES) -> list[Problem]:
    """Conditions that no size can fulfil, so that an empty result isn't mistaken for a fact about Azure."""
    problems = regions.check(query.region, "region") if query.region else []
    if query.service not in TAKES_SIZES:
        problems.append(_wrong("service", query.service.value, ", ".join(TAKES_SIZES)))
    models = sorted({size.gpu.name for size in sizes if size.gpu})
    if query.gpu and not any(_is_model(size, query.gpu) for size in sizes):
        problems.append(_wrong("gpu", query.gpu, ", ".join(models)))
    counts = sorted({size.gpu_count for size in sizes if size.gpu_count is not None})
    if query.gpus is not None and not (query.gpus in counts or (query.at_least and 0 < query.gpus <= counts[-1])):
        allowed = ", ".join(str(count) for count in counts)
        problems.append(_wrong("gpus", str(query.gpus), allowed))
    memories = sorted({size.gpu.memory_gib for size in sizes if size.gpu})
    if query.gpu_memory_gib is not None and not 0 < query.gpu_memory_gib <= memories[-1]:
        allowed = f"1 to {memories[-1]} GiB"
        problems.append(_wrong("gpu-memory", query.gpu_memory_gib, allowed))
    most_vcpus = max(size.vcpus or 0 for size in sizes)
    if query.vcpus is not None and not 0 < query.vcpus <= most_vcpus:
        problems.append(_wrong("vcpus", query.vcpus, f"1 to {most_vcpus}"))
    if query.most_usd_hour is not None and (query.most_usd_hour.is_nan() or query.most_usd_hour <= 0):
        problems.append(_wrong("max-price", str(query.most_usd_hour), "more than 0 USD an hour"))
    return problems


def search(query: SizeQuery, as_of: date, *, prices: PriceBook, sizes: Sizes = SIZES) -> SearchResult:
    """Sorts every size into those that fit and those left out."""
    matches: list[Match] = []
    left_out: list[LeftOut] = []
    for size in sizes:
        price, region = prices.cheapest(size.name, query.region, spot=query.spot)
        against = [*_lacks(size, query), *_too_expensive(price, query, as_of)]
        remarks = [f"its processor is {size.series.architecture}"] if size.series.architecture != "x64" else []
        use = _use(size, query)
        for problem in offers.reasons(size, use, as_of, prices):
            excludes = problem.severity is Severity.ERROR or problem.path == use.region_path or size.series.restricted
            excludes |= query.instead_of is not None and problem.code is Code.RETIRING
            (against if excludes else remarks).append(problem.message)
        if against:
            left_out.append(LeftOut(size=size, reasons=tuple(against)))
        else:
            matches.append(Match(size=size, price=price, region=region, remarks=tuple(remarks)))
    matches.sort(key=lambda one: (one.price is None, one.price.usd_hour if one.price else 0, one.size.name))
    return SearchResult(matches=tuple(matches), left_out=tuple(left_out))


def _use(size: Size, query: SizeQuery) -> SizeUse:
    return offers.use_of(size, query.service, query.region, rdma=query.rdma)._replace(spot=query.spot, needs=query.needs)


def _lacks(size: Size, query: SizeQuery) -> Iterator[str]:
    if query.instead_of is not None and size.name == query.instead_of.name:
        yield "it is the size to be replaced"
    if query.gpu and not _is_model(size, query.gpu):
        yield f"its GPU is {size.gpu.model}, not {query.gpu}" if size.gpu else f"it has no {query.gpu}"
    if query.gpus is not None:
        if size.gpu_count is None:
            yield "how many GPUs it has is not known"
        elif size.gpu_count < query.gpus or (size.gpu_count > query.gpus and not query.at_least):
            gpus = "GPU" if size.gpu_count == 1 else "GPUs"
            yield f"it has {size.gpu_count} {gpus}, not {query.gpus}{' or more' if query.at_least else ''}"
    if query.needs is not None and size.gpu is None and size.gpu_count is None:
        yield "which GPU it has is not known"
    if query.gpu_memory_gib is not None:
        memory = size.gpu_memory_each_gib
        if memory is None:
            yield "how much memory its GPUs have is not known" if size.gpu else "it has no GPU"
        elif memory < query.gpu_memory_gib:
            yield f"each of its GPUs has {float(memory):g} GiB, not {query.gpu_memory_gib}"
    if query.vcpus is not None and (size.vcpus is None or size.vcpus < query.vcpus):
        yield f"it has {size.vcpus} vCPU, not {query.vcpus}" if size.vcpus else "how many vCPU it has is not known"
    if query.mig and not (size.gpu and size.gpu.mig):
        yield "its GPUs can't be partitioned into MIG instances"


def _too_expensive(price: Price | None, query: SizeQuery, as_of: date) -> Iterator[str]:
    if query.most_usd_hour is None:
        return
    if price is None:
        yield "its price is not known, so it can't be compared with the limit"
    elif price.usd_hour > query.most_usd_hour:
        yield f"it costs {price.text(as_of)}, more than {query.most_usd_hour}"


def _is_model(size: Size, words: str) -> bool:
    """Compares whole words, so that `A10` isn't `A100`."""
    if size.gpu is None:
        return False
    parts = words.lower().split()
    for name in (size.gpu.name, size.gpu.model):
        have = name.lower().split()
        if any(have[at : at + len(parts)] == parts for at in range(len(have))):
            return True
    return False


def _rounded(memory: Fraction | None) -> int | None:
    return None if memory is None else int(memory)


def _wrong(path: str, value: object, allowed: str) -> Problem:
    return refused(f"search.{path}", path, value, allowed=allowed)
