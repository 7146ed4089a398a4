"""The form in which prices of virtual machines are kept: one CSV row a size, region and source, with the day it was read.

In: the text of such a file. Out: its rows, and the text again from rows, sorted so that a difference between two versions of the
file is a change of prices. Prices are USD per hour, pay as you go, Linux, public cloud. An empty price is not known; 0 is none.
"""

from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

HEADER = "size,region,usd_hour,usd_hour_spot,as_of,source"
API = "api"  # the source of rows that `prices refresh` writes

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


def read(text: str) -> list[PriceRow]:
    """The rows of a file. ValueError names the line and the value where one is malformed."""
    lines = text.splitlines()
    if not lines or lines[0] != HEADER:
        raise ValueError(f"line 1: the header is {lines[0] if lines else ''!r}, expected {HEADER!r}")
    rows = list(_rows(lines[1:]))
    seen: set[tuple[str, str, str]] = set()
    for number, row in enumerate(rows, start=2):
        key = (row.size.lower(), row.region, row.source)
        if key in seen:
            raise ValueError(f"line {number}: {row.size!r} in {row.region!r} from {row.source!r} stands in the file twice")
        seen.add(key)
    return rows


def write(rows: Iterable[PriceRow]) -> str:
    """The file's text, sorted by size, region and source."""
    ordered = sorted(rows, key=lambda row: (row.size.lower(), row.region, row.source))
    return "".join(f"{line}\n" for line in (HEADER, *map(_line, ordered)))


def price_from(text: str, number: int, column: str) -> Decimal | None:
    """A price above 0, or None for an empty field. ValueError names the line, the column and the value."""
    if not text:
        return None
    try:
        price = Decimal(text)
    except InvalidOperation:
        price = Decimal(0)
    if not price.is_finite() or price <= 0:
        raise ValueError(f"line {number}: {column} is {text!r}, expected a number above 0, or nothing where it is not known")
    return price


def day_from(text: str, number: int) -> date:
    """The day of a row. ValueError names the line and the value."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"line {number}: as_of is {text!r}, expected a day such as 2026-06-18") from None


def plain(price: Decimal | None) -> str:
    """A price without an exponent and without zeros at the end: 0.000034, 3.2. Empty where it is not known."""
    return "" if price is None else f"{price.normalize():f}"


def _rows(lines: list[str]) -> Iterator[PriceRow]:
    days: dict[str, date] = {}  # few days, many rows
    for number, line in enumerate(lines, start=2):
        fields = line.split(",")
        if len(fields) != 6:
            raise ValueError(f"line {number}: {line!r} has {len(fields)} fields, expected 6: {HEADER}")
        size, region, usd_hour, usd_hour_spot, as_of, source = fields
        if not size.startswith("Standard_") or not region.isalnum() or region != region.lower():
            raise ValueError(
                f"line {number}: {size!r} in {region!r}, expected a size such as Standard_NC6 and a region such as eastus"
            )
        if source not in SOURCES:
            raise ValueError(f"line {number}: source is {source!r}, expected one of {', '.join(SOURCES)}")
        if as_of not in days:
            days[as_of] = day_from(as_of, number)
        on_demand, spot = price_from(usd_hour, number, "usd_hour"), price_from(usd_hour_spot, number, "usd_hour_spot")
        if on_demand is None and spot is None:
            raise ValueError(f"line {number}: {line!r} has no price; leave out what is not known")
        yield PriceRow(size, region, on_demand, spot, days[as_of], source)


def _line(row: PriceRow) -> str:
    return ",".join((row.size, row.region, plain(row.usd_hour), plain(row.usd_hour_spot), row.day.isoformat(), row.source))
