"""Finds VM sizes by what they should have: "two A100 with 80 GB in westeurope for AKS, cheapest first".

In: a `Wish`, the day, sizes and prices. Out: an `Answer`: the sizes that fit, cheapest first, and every other size with each
reason for which it was left out.
"""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from azure_gpu.catalog import offers, regions, successors
from azure_gpu.catalog.prices import Price, PriceBook
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.size_use import TAKES_SIZES, Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.lookup import Sizes
from azure_gpu.catalog.sizes.model import Driver, Size


class Wish(NamedTuple):
    """What a size should have. What is None or empty is no condition."""

    service: Service = Service.VIRTUAL_MACHINES
    region: str = ""
    gpu: str = ""  # words of the model's name: A100, H100 NVL, RTX PRO 6000
    gpus: Fraction | None = None  # exactly so many, or at least so many
    at_least: bool = False
    gpu_memory_gib: int | None = None  # on each GPU, at least
    vcpus: int | None = None  # at least
    needs: Driver | None = None  # what the software calls
    rdma: bool = False
    mig: bool = False
    spot: bool = False  # price and order by Spot prices
    most_usd_hour: Decimal | None = None


class Found(NamedTuple):
    """A size that fits. Without a region in the wish, price and region are those of the cheapest one."""

    size: Size
    price: Price | None  # None: not known
    region: str
    remarks: tuple[str, ...]  # warnings that go with it, such as an end that is near


class LeftOut(NamedTuple):
    size: Size
    reasons: tuple[str, ...]


class Answer(NamedTuple):
    found: tuple[Found, ...]
    left_out: tuple[LeftOut, ...]


def like(size: Size, wish: Wish) -> Wish:
    """The wish for what replaces `size`: its driver, at least its GPUs and their memory, where the wish itself says nothing.

    What replaces a size without a GPU, a machine for MPI, has none either, at least its vCPU, and InfiniBand where it had that.
    """
    for_mpi = size.gpu_count == 0 and wish.gpus is None and not wish.gpu
    return wish._replace(
        needs=wish.needs or successors.usual_driver(size),
        gpus=size.gpu_count if wish.gpus is None else wish.gpus,
        at_least=wish.at_least or (wish.gpus is None and not for_mpi),
        vcpus=size.vcpus if for_mpi and wish.vcpus is None else wish.vcpus,
        rdma=wish.rdma or (for_mpi and size.rdma),
        gpu_memory_gib=_rounded(size.gpu_memory_each_gib) if wish.gpu_memory_gib is None else wish.gpu_memory_gib,
    )


def check(wish: Wish, sizes: Sizes = SIZES) -> list[Problem]:
    """What no size could ever fulfil in this wish, so that an empty answer isn't mistaken for a fact about Azure."""
    problems = regions.check_known(wish.region, "region") if wish.region else []
    if wish.service not in TAKES_SIZES:
        problems.append(_impossible("service", "this service doesn't run VM sizes", wish.service.value, ", ".join(TAKES_SIZES)))
    models = sorted({size.gpu.name for size in sizes if size.gpu})
    if wish.gpu and not any(_is_model(size, wish.gpu) for size in sizes):
        problems.append(_impossible("gpu", "no size has a GPU of this name", wish.gpu, ", ".join(models)))
    counts = sorted({size.gpu_count for size in sizes if size.gpu_count is not None})
    if wish.gpus is not None and not (wish.gpus in counts or (wish.at_least and 0 < wish.gpus <= counts[-1])):
        allowed = ", ".join(str(count) for count in counts)
        problems.append(_impossible("gpus", "no size has this number of GPUs", str(wish.gpus), allowed))
    memories = sorted({size.gpu.memory_gib for size in sizes if size.gpu})
    if wish.gpu_memory_gib is not None and not 0 < wish.gpu_memory_gib <= memories[-1]:
        allowed = f"1 to {memories[-1]} GiB"
        problems.append(_impossible("gpu-memory", "no GPU has so much memory", wish.gpu_memory_gib, allowed))
    most_vcpus = max(size.vcpus or 0 for size in sizes)
    if wish.vcpus is not None and not 0 < wish.vcpus <= most_vcpus:
        problems.append(_impossible("vcpus", "no size has this number of vCPU", wish.vcpus, f"1 to {most_vcpus}"))
    if wish.most_usd_hour is not None and (wish.most_usd_hour.is_nan() or wish.most_usd_hour <= 0):
        message = "no size has a price below this"
        problems.append(_impossible("max-price", message, str(wish.most_usd_hour), "more than 0 USD an hour"))
    return problems


def search(wish: Wish, as_of: date, *, prices: PriceBook, sizes: Sizes = SIZES) -> Answer:
    """Every size, either among those that fit or among those left out."""
    found: list[Found] = []
    left_out: list[LeftOut] = []
    for size in sizes:
        price, region = prices.cheapest(size.name, wish.region, spot=wish.spot)
        against = [*_lacks(size, wish), *_too_dear(price, wish, as_of)]
        remarks = [f"its processor is {size.series.architecture}"] if size.series.architecture != "x64" else []
        for problem in offers.reasons(size, _use(size, wish), as_of, prices):
            excludes = problem.severity is Severity.ERROR or problem.code is Code.NOT_IN_REGION or size.series.restricted
            (against if excludes else remarks).append(problem.message)
        if against:
            left_out.append(LeftOut(size=size, reasons=tuple(against)))
        else:
            found.append(Found(size=size, price=price, region=region, remarks=tuple(remarks)))
    found.sort(key=lambda one: (one.price is None, one.price.usd_hour if one.price else 0, one.size.name))
    return Answer(found=tuple(found), left_out=tuple(left_out))


def _use(size: Size, wish: Wish) -> SizeUse:
    return offers.use_of(size, wish.service, wish.region, rdma=wish.rdma)._replace(spot=wish.spot, needs=wish.needs)


def _lacks(size: Size, wish: Wish) -> Iterator[str]:
    if wish.gpu and not _is_model(size, wish.gpu):
        yield f"its GPU is {size.gpu.model}, not {wish.gpu}" if size.gpu else f"it has no {wish.gpu}"
    if wish.gpus is not None:
        if size.gpu_count is None:
            yield "how many GPUs it has is not known"
        elif size.gpu_count < wish.gpus or (size.gpu_count > wish.gpus and not wish.at_least):
            gpus = "GPU" if size.gpu_count == 1 else "GPUs"
            yield f"it has {size.gpu_count} {gpus}, not {wish.gpus}{' or more' if wish.at_least else ''}"
    if wish.needs is not None and size.gpu is None and size.gpu_count is None:
        yield "which GPU it has is not known"
    if wish.gpu_memory_gib is not None:
        memory = size.gpu_memory_each_gib
        if memory is None:
            yield "how much memory its GPUs have is not known" if size.gpu else "it has no GPU"
        elif memory < wish.gpu_memory_gib:
            yield f"each of its GPUs has {float(memory):g} GiB, not {wish.gpu_memory_gib}"
    if wish.vcpus is not None and (size.vcpus is None or size.vcpus < wish.vcpus):
        yield f"it has {size.vcpus} vCPU, not {wish.vcpus}" if size.vcpus else "how many vCPU it has is not known"
    if wish.mig and not (size.gpu and size.gpu.mig):
        yield "its GPUs can't be cut into MIG instances"


def _too_dear(price: Price | None, wish: Wish, as_of: date) -> Iterator[str]:
    if wish.most_usd_hour is None:
        return
    if price is None:
        yield "its price is not known, so it can't be held against the limit"
    elif price.usd_hour > wish.most_usd_hour:
        yield f"it costs {price.text(as_of)}, more than {wish.most_usd_hour}"


def _is_model(size: Size, words: str) -> bool:
    """Whole words, so that `A10` isn't `A100`."""
    if size.gpu is None:
        return False
    wanted = words.lower().split()
    for name in (size.gpu.name, size.gpu.model):
        have = name.lower().split()
        if any(have[at : at + len(wanted)] == wanted for at in range(len(have))):
            return True
    return False


def _rounded(memory: Fraction | None) -> int | None:
    return None if memory is None else int(memory)


def _impossible(path: str, message: str, value: object, allowed: str) -> Problem:
    return Problem(path=path, message=message, value=value, allowed=allowed, code=Code.IMPOSSIBLE)
