"""The hourly cost of a Batch pool: its machines; Batch itself is free.

Prices are those of Linux machines, so the cost of a Windows pool is unknown. Unknown costs stay unknown, never 0.
"""

from datetime import date
from decimal import Decimal
from typing import NamedTuple

from azure_gpu.catalog.prices import PriceBook
from azure_gpu.catalog.prices.hourly_cost import in_region
from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.catalog.prices.price_table import plain
from azure_gpu.catalog.size_use import OperatingSystem


class PoolCost(NamedTuple):
    """USD per hour of all nodes. `unknown` describes what has no price; then there is no total."""

    usd_hour: Decimal | None
    unknown: tuple[str, ...] = ()
    dedicated: Price | None = None  # of one node
    spot: Price | None = None  # of one node

    def text(self, as_of: date) -> str:
        """For people: `0.526 USD/hour (list price of 2026-06-18)`, or why there is none."""
        if self.usd_hour is None:
            return f"not known: no price of {' and of '.join(self.unknown)}"
        days = [price for price in (self.dedicated, self.spot) if price is not None]
        if not days:
            return "0 USD/hour"
        oldest = min(days, key=lambda price: price.day)
        return oldest._replace(usd_hour=self.usd_hour).text(as_of) if self.usd_hour else f"{plain(self.usd_hour)} USD/hour"


def hourly(
    size_name: str,
    region: str,
    dedicated: int,
    spot: int,
    prices: PriceBook,
    *,
    operating_system: OperatingSystem = "Linux",
) -> PoolCost:
    """The hourly cost of a pool's nodes."""
    unknown: list[str] = []
    total = Decimal(0)
    of_dedicated = prices.on_demand(size_name, region) if dedicated > 0 else None
    of_spot = prices.spot(size_name, region) if spot > 0 else None
    for count, price, kind in ((dedicated, of_dedicated, "dedicated"), (spot, of_spot, "Spot")):
        if count <= 0:
            continue
        if operating_system == "Windows":
            unknown.append(f"{kind} {size_name} with Windows")
        elif price is None:
            unknown.append(f"{kind} {size_name} {in_region(region)}")
        else:
            total += price.usd_hour * count
    if unknown:
        return PoolCost(None, tuple(unknown))
    return PoolCost(total, dedicated=of_dedicated, spot=of_spot)
