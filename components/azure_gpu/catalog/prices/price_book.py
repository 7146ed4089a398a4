"""Looks up the price of a virtual machine by size and region. An unknown price is None, never 0; every price has its day."""

from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from azure_gpu.catalog import regions, sources, tables
from azure_gpu.catalog.prices import price_table
from azure_gpu.catalog.prices.price_table import SOURCES, PriceRow
from azure_gpu.catalog.sizes.lookup import normalise
from azure_gpu.catalog.tables import Row


class Price(NamedTuple):
    """A list price in USD per hour, the day on which it was read, and where."""

    usd_hour: Decimal
    day: date
    source: str

    def stale(self, as_of: date) -> bool:
        """Whether its shelf life has passed."""
        return not sources.holds("prices", self.day, as_of)

    def observed_later(self, as_of: date) -> bool:
        """Whether it was read after `as_of`: the price on that day is unknown."""
        return self.day > as_of

    def text(self, as_of: date) -> str:
        """For people: `3.673 USD/hour (list price of 2026-06-18)`, at any age."""
        note = f", read after {as_of.isoformat()}" if self.observed_later(as_of) else ""
        return f"{price_table.plain(self.usd_hour)} USD/hour (list price of {self.day.isoformat()}{note})"


class PriceBook:
    """Prices by size and region: the newest of each kind."""

    def __init__(self, rows: Iterable[PriceRow], unread: Mapping[str, list[tuple[int, str]]] | None = None) -> None:
        """`unread` are lines of a price table by size, which are parsed at the first use of the size."""
        self._by_size: dict[str, dict[str, list[PriceRow]]] = {}
        for row in rows:
            self._by_size.setdefault(row.size.lower(), {}).setdefault(row.region, []).append(row)
        self._unread = unread or {}
        self._newest: dict[tuple[str, str, bool], Price | None] = {}  # by size, region, and whether Spot

    @classmethod
    def packaged(cls) -> "PriceBook":
        """The book of the file that comes with the catalog: a query for one size parses only its rows."""
        return cls((), price_table.by_size(tables.text_of(price_table.TABLE.path)))

    def on_demand(self, size_name: str, region: str) -> Price | None:
        """The newest on-demand price; None if unknown."""
        return self._newest_of(size_name, region, spot=False)

    def spot(self, size_name: str, region: str) -> Price | None:
        """The newest Spot price; None if unknown."""
        return self._newest_of(size_name, region, spot=True)

    def cheapest(self, size_name: str, region: str = "", *, spot: bool = False) -> tuple[Price | None, str]:
        """The price in a region; without one, the lowest that is known and its region. None if unknown."""
        of_region = self.spot if spot else self.on_demand
        places = [regions.normalise(region)] if region else self.regions_of(size_name)
        known = [(price, place) for place in places if (price := of_region(size_name, place))]
        return min(known, key=lambda one: (one[0].usd_hour, one[1]), default=(None, regions.normalise(region)))

    def regions_of(self, size_name: str) -> tuple[str, ...]:
        """The regions in which a price of the size is known, on demand or Spot. It may still be unavailable there."""
        return tuple(sorted(self._of(size_name)))

    def has(self, size_name: str, region: str = "") -> bool:
        """Whether a price of the size is known in the region; without one, anywhere."""
        found = self._of(size_name)
        return regions.normalise(region) in found if region else bool(found)

    def _newest_of(self, size_name: str, region: str, *, spot: bool) -> Price | None:
        key = (size_name, region, spot)  # searches for successors query the same ones repeatedly
        if key not in self._newest:
            rows = self._of(size_name).get(regions.normalise(region), [])
            self._newest[key] = _newest((row.usd_hour_spot if spot else row.usd_hour, row) for row in rows)
        return self._newest[key]

    def _of(self, size_name: str) -> Mapping[str, list[PriceRow]]:
        """The rows of a size by region."""
        key = _key(size_name)
        if key not in self._by_size and key in self._unread:
            found: dict[str, list[PriceRow]] = {}
            for row in price_table.read_rows(Row(price_table.TABLE, number, line) for number, line in self._unread[key]):
                found.setdefault(row.region, []).append(row)
            self._by_size[key] = found
        return self._by_size.get(key, {})


def _key(size_name: str) -> str:
    return normalise(size_name).lower()


def _newest(candidates: Iterable[tuple[Decimal | None, PriceRow]]) -> Price | None:
    known = [Price(usd_hour, row.day, SOURCES[row.source]) for usd_hour, row in candidates if usd_hour is not None]
    return max(known, key=lambda price: price.day, default=None)
