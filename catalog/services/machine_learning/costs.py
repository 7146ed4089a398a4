"""What machines of Azure Machine Learning cost an hour: those of managed deployments, or the nodes of a cluster.

In: sizes and numbers, a region and prices. Out: a `MachineCost`. The service itself adds nothing to the price of its machines.
What is not known stays so: it is never 0. Disks, networks and what leaves Azure aren't in it.
"""

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from catalog.prices import PriceBook
from catalog.prices.price_book import Price
from catalog.sources import Dated, Source

NO_SURCHARGE = Source("Microsoft Learn, machine-learning/concept-endpoints-online", Dated.OBSERVED, date(2024, 9, 23))


class Machines(NamedTuple):
    """So many machines of one size."""

    size: str
    number: int
    spot: bool = False


class MachineCost(NamedTuple):
    """USD an hour. `unknown` says what has no price, in words; then there is no sum."""

    usd_hour: Decimal | None
    unknown: tuple[str, ...] = ()
    oldest: date | None = None  # on which the oldest of its prices was read

    @property
    def number(self) -> float | None:
        """For an output; None where it isn't known."""
        return float(self.usd_hour) if self.usd_hour is not None else None

    def text(self, as_of: date) -> str:
        """For people: `0.526 USD/hour (list price of 2026-06-18)`, or why there is none."""
        if self.usd_hour is None:
            return f"not known: no price of {' and of '.join(self.unknown)}"
        if self.oldest is None:
            return f"{self.usd_hour:f} USD/hour"
        return Price(self.usd_hour, self.oldest, "").text(as_of)


def hourly(machines: Iterable[Machines], region: str, prices: PriceBook) -> MachineCost:
    """What they cost together there. No machines cost nothing, whatever the price."""
    total, unknown, days = Decimal(0), list[str](), list[date]()
    for each in machines:
        if each.number <= 0:
            continue
        price = prices.spot(each.size, region) if each.spot else prices.on_demand(each.size, region)
        if price is None:
            unknown.append(f"{'Spot ' if each.spot else ''}{each.size} in {region}")
            continue
        days.append(price.day)
        total += price.usd_hour * each.number
    if unknown:
        return MachineCost(None, tuple(dict.fromkeys(unknown)))
    return MachineCost(total, (), min(days, default=None))
