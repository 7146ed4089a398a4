"""Finds replacements of a VM size that isn't available: at most three sizes that the service offers on that day.

First the sizes that Azure's guide names, followed through guides that are out of date, then the cheapest sizes with as many GPUs,
as much memory on each, and the same driver and network. A replacement is sold in the region, by a price there, and runs the same
code: same processor architecture, GPUs of the same vendor.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from azure_gpu.catalog import listed
from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.prices import Price, PriceBook
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes.lookup import Sizes
from azure_gpu.catalog.sizes.model import Driver, Size

MOST = 3
Rules = Callable[[Size, SizeUse, date, PriceBook], Iterable[Problem]]
_EXPENSIVE = Decimal("Infinity")  # an unknown price sorts last


class Successor(NamedTuple):
    """A replacement. `lacks`: what the old size had and this one hasn't; empty if nothing."""

    size: Size
    price: Price | None  # on demand in the region of the use, or where it is cheapest; None: not known
    lacks: str = ""

    def text(self, as_of: date) -> str:
        """For people: name, what it lacks, and the price."""
        details = [self.lacks] if self.lacks else []
        details.append(self.price.text(as_of) if self.price else "price not known")
        return f"{self.size.name} ({', '.join(details)})"


def find(size: Size, use: SizeUse, as_of: date, sizes: Sizes, prices: PriceBook, rules: Rules) -> tuple[Successor, ...]:
    """Up to `MOST` successors, best first; none if no known size works."""
    like = use._replace(needs=use.needs or usual_driver(size))

    candidates = [
        one
        for one in _proposable(sizes, as_of)
        if one is not size and _not_cut(one, size) and _runs_same(one, size, use) and _sold_there(one, use, prices)
    ]
    judged: dict[str, _Offered] = {}

    def offered(candidate: Size) -> _Offered:
        """Whether the service offers the candidate; evaluated once."""
        if candidate.name not in judged:
            judged[candidate.name] = _judge(rules(candidate, like._replace(size=candidate.name), as_of, prices), use.region_path)
        return judged[candidate.name]

    named = _nearest([one for one in _named(size, sizes, as_of) if one in candidates and offered(one) is not _Offered.NO], size)
    lacking = [candidate for candidate in named if _lacks(candidate, size)]
    whole = [candidate for candidate in named if not _lacks(candidate, size)]
    chosen = [candidate for candidate in whole if offered(candidate) is _Offered.YES][:MOST]
    room = MOST - 1 if lacking else MOST  # a size that a guide names is listed even if it lacks something
    least = _memory(size)
    likely = [one for one in candidates if _replaces(one, size, least)]
    second = [candidate for candidate in whole if candidate not in chosen]
    for candidate in sorted(likely, key=lambda one: _price_of(one, use, prices)):  # the rules are evaluated for few of them
        if len(chosen) >= room:
            break
        if candidate not in named and offered(candidate) is not _Offered.NO:
            (chosen if offered(candidate) is _Offered.YES else second).append(candidate)
    chosen += second[: room - len(chosen)]  # possible sizes after certain ones
    chosen += lacking[: MOST - len(chosen)]
    if not chosen:
        alike = [one for one in candidates if one.rdma >= size.rdma and bool(one.gpu_count) is (size.gpu_count != 0)]
        smaller = [one for one in alike if offered(one) is not _Offered.NO]
        chosen = sorted(smaller, key=_all_gpu_memory, reverse=True)[:1]
    return tuple(
        Successor(candidate, prices.cheapest(candidate.name, use.region)[0], _lacks(candidate, size)) for candidate in chosen
    )


class _Offered(Enum):
    """Whether a service offers a size for a use."""

    YES = "yes"
    PERHAPS = "perhaps"  # something about it isn't known
    NO = "no"


def _judge(problems: Iterable[Problem], region_path: str) -> _Offered:
    """Stops at the first problem that excludes the size. A problem of the region means that it is probably not sold there."""
    answer = _Offered.YES
    for problem in problems:
        if problem.severity is Severity.ERROR or problem.path == region_path:
            return _Offered.NO
        if problem.code in (Code.UNKNOWN, Code.NOT_LISTED):
            answer = _Offered.PERHAPS
    return answer


def usual_driver(size: Size) -> Driver | None:
    """The driver that work on this size most likely calls; None without a GPU."""
    if Driver.CUDA in size.series.drivers:
        return Driver.CUDA
    return size.series.drivers[0] if size.series.drivers else None


def _named(size: Size, sizes: Sizes, as_of: date) -> Iterator[Size]:
    """The sizes that the guides name; a retired one is replaced by its own successors. Each size once."""
    seen = {size.name}
    waiting = [*size.successors, *size.series.successors]
    while waiting:
        name = waiting.pop(0)
        one = sizes.find(name)
        for candidate in [one] if one else [other for other in sizes if other.series.name == name]:
            if candidate.name in seen:
                continue
            seen.add(candidate.name)
            if candidate.lifecycle.status(as_of) is Status.RETIRED:
                waiting += [*candidate.successors, *candidate.series.successors]
            else:
                yield candidate


@lru_cache(maxsize=8)  # the same for every size that is replaced on a day
def _proposable(sizes: Sizes, as_of: date) -> tuple[Size, ...]:
    """The sizes that are sold to everybody on that day, with known GPUs and without an announced end.

    Azure closes a size to new subscriptions when it announces the end.
    """
    return tuple(
        one
        for one in sizes
        if one.gpu_count is not None
        and not one.series.restricted
        and one.lifecycle.status(as_of) in (Status.GENERAL, Status.PREVIEW)
    )


def _not_cut(candidate: Size, size: Size) -> bool:
    """Whether the candidate has all its cores enabled, if the old size has."""
    return candidate.vcpus == candidate.quota_vcpus or size.vcpus != size.quota_vcpus


def _runs_same(candidate: Size, size: Size, use: SizeUse) -> bool:
    """The same processor, and GPUs of the same vendor; if the software's driver is known, it decides about the GPUs."""
    if candidate.series.architecture != size.series.architecture:
        return False
    if use.needs is not None or size.gpu is None:
        return True
    return candidate.gpu is not None and candidate.gpu.vendor is size.gpu.vendor


def _sold_there(candidate: Size, use: SizeUse, prices: PriceBook) -> bool:
    """Whether the size has a price in the region, or anywhere if the region is unknown. Stack Edge has no prices; its rules list
    its sizes."""
    sold = prices.has(candidate.name, use.region) or listed.has("VM sizes", use.region, candidate.name)
    return sold or use.service is Service.STACK_EDGE


def _replaces(candidate: Size, size: Size, least: Fraction) -> bool:
    """As many GPUs, at least the memory on each (`least`), and InfiniBand where the old size had it."""
    if size.rdma and not candidate.rdma:
        return False
    if size.gpu_count is None or candidate.gpu_count is None:
        return False
    if not size.gpu_count:  # no GPU: machines for MPI
        return not candidate.gpu_count and (candidate.vcpus or 0) >= (size.vcpus or 0)
    return candidate.gpu_count >= size.gpu_count and _memory(candidate) >= least


def _memory(size: Size) -> Fraction:
    return size.gpu_memory_each_gib or Fraction(0)


def _nearest(named: list[Size], size: Size) -> list[Size]:
    """The size of each named series that is closest in GPUs, so that a series counts once."""
    nearest: dict[str, Size] = {}
    for candidate in named:
        best = nearest.get(candidate.series.name)
        if best is None or _distance(candidate, size) < _distance(best, size):
            nearest[candidate.series.name] = candidate
    return list(nearest.values())


def _distance(candidate: Size, size: Size) -> tuple[Fraction, int]:
    gpus = abs((candidate.gpu_count or Fraction(0)) - (size.gpu_count or Fraction(0)))
    return gpus, abs((candidate.vcpus or 0) - (size.vcpus or 0))


def _price_of(candidate: Size, use: SizeUse, prices: PriceBook) -> tuple[Decimal, str]:
    price, _ = prices.cheapest(candidate.name, use.region)
    return (price.usd_hour if price else _EXPENSIVE), candidate.name


def _all_gpu_memory(size: Size) -> int:
    return size.gpu_memory_gib or 0


def _lacks(candidate: Size, size: Size) -> str:
    if size.rdma and not candidate.rdma:
        return "without InfiniBand"
    return "with less GPU memory" if _all_gpu_memory(candidate) < _all_gpu_memory(size) else ""
