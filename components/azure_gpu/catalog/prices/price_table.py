"""The CSV file of virtual machine prices: one row per size, region and source, with the day on which it was read.

Prices are USD per hour, pay as you go, Linux, public cloud. An empty price is unknown. `write` sorts the rows, so that the diff
of two versions shows the changed prices.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from azure_gpu.catalog import tables
from azure_gpu.catalog.tables import Row, Table

TABLE = Table(
    tables.beside(__file__, "vm_prices.csv"),
    {
        "size": "as Azure spells it: Standard_NC4as_T4_v3",
        "region": "as ARM spells it: westeurope",
        "usd_hour": "USD per hour, on demand",
        "usd_hour_spot": "USD per hour, Spot",
        "as_of": "the day on which the price was read",
        "source": "the price list",
    },
)
HEADER = ",".join(TABLE.columns)
API = "api"  # the source of rows that `catalog refresh` writes

# What the short names in the column `source` stand for.
SOURCES: dict[str, str] = {
    "karpenter": (
        "Azure/karpenter-provider-azure, pkg/providers/pricing/zz_generated.pricing.go at 2b431da1, "
        "made from Azure's Retail Prices API"
    ),
    "skypilot": (
        "skypilot-catalog, catalogs/v8/azure/vms.csv in the fork coopslarhette at 20291d7e; its day is inferred from "
        "the pull request 79 of skypilot-catalog, which quotes the same rows: values may be older"
    ),
    "skypilot-undated": (
        "skypilot-catalog, catalogs/v8/azure/vms.csv in the fork coopslarhette at 20291d7e; added by hand on a day that is "
        "not known, here taken as that of the rest of the file"
    ),
    API: "Azure's Retail Prices API, prices.azure.com",
}


class PriceRow(NamedTuple):
    """One row. At least one of the two prices is known."""

    size: str  # as Azure spells it: Standard_NC4as_T4_v3
    region: str  # as ARM spells it: westeurope
    usd_hour: Decimal | None  # on demand
    usd_hour_spot: Decimal | None
    day: date  # on which the price was read
    source: str  # a key of SOURCES


def read(text: str, path: str = TABLE.path) -> list[PriceRow]:
    """The rows of a file. Raises TableError for an invalid row."""
    return list(read_rows(tables.rows(TABLE._replace(path=path), text)))


def read_rows(rows: Iterable[Row]) -> Iterator[PriceRow]:
    """The prices of the rows. Raises TableError for a duplicate."""
    days: dict[str, date] = {}  # few days, many rows
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        size, region, source, as_of = row["size"], row["region"], row["source"], row["as_of"]
        if not size.startswith("Standard_"):
            raise row.wrong("size", "a size such as Standard_NC6")
        if not region.isalnum() or region != region.lower():
            raise row.wrong("region", "a region such as eastus")
        row.one_of("source", SOURCES)
        if as_of not in days:
            days[as_of] = row.day("as_of")
        on_demand, spot = price_of(row, "usd_hour"), price_of(row, "usd_hour_spot")
        if on_demand is None and spot is None:
            raise row.wrong("usd_hour", "a price in usd_hour or usd_hour_spot; remove the row if both are unknown")
        key = (size.lower(), region, source)
        if key in seen:
            raise row.wrong("size", "one row per size, region and source")
        seen.add(key)
        yield PriceRow(size, region, on_demand, spot, days[as_of], source)


def by_size(text: str) -> Mapping[str, list[tuple[int, str]]]:
    """The lines of the file with their numbers by size in lower case, not parsed. Raises TableError for another header."""
    lines = text.splitlines()
    tables.check_header(TABLE, lines)
    found: dict[str, list[tuple[int, str]]] = {}
    for number, line in enumerate(lines[1:], start=2):
        found.setdefault(line.partition(",")[0].lower(), []).append((number, line))
    return found


def write(rows: Iterable[PriceRow]) -> str:
    """The file's text, sorted by size, region and source."""
    ordered = sorted(rows, key=lambda row: (row.size.lower(), row.region, row.source))
    return "".join(f"{line}\n" for line in (HEADER, *map(_line, ordered)))


def price_of(row: Row, column: str) -> Decimal | None:
    """A price above 0, or None for an empty cell."""
    cell = row[column]
    if not cell:
        return None
    try:
        price = Decimal(cell)
    except InvalidOperation:
        price = Decimal(0)
    if not price.is_finite() or price <= 0:
        raise row.wrong(column, "a number above 0, or empty if unknown")
    return price


def plain(price: Decimal | None) -> str:
    """A price without an exponent and without zeros at the end: 0.000034, 3.2. Empty if unknown."""
    return "" if price is None else f"{price.normalize():f}"


def _line(row: PriceRow) -> str:
    return ",".join((row.size, row.region, plain(row.usd_hour), plain(row.usd_hour_spot), row.day.isoformat(), row.source))
