"""Reads the rows of the price files again from the Retail Prices API."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

from azure_gpu.catalog import regions
from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.prices import PriceBook, container_apps, price_table
from azure_gpu.catalog.prices.container_apps import Meter, MeterPrices, MeterRow
from azure_gpu.catalog.prices.price_table import PriceRow
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.lookup import normalise
from azure_gpu_operations.catalog import retail_prices
from azure_gpu_operations.catalog.changes import Change, Refreshed, SourceError, What
from azure_gpu_operations.catalog.retail_prices import Choice, RetailPrices

_CONTAINER_APPS = "Azure Container Apps"
_NAME = "prices"
_NAMED = 3  # sizes that weren't requested; of others their number is told


@dataclass(slots=True)
class Renewal:
    """The result of one refresh. If `missing` isn't empty, the files must not be written."""

    today: date
    changes: list[Change] = field(default_factory=list[Change])
    unchanged: int = 0  # prices that are as before
    unknown: list[str] = field(default_factory=list[str])  # requested, but no row matched
    ambiguous: list[str] = field(default_factory=list[str])  # several rows matched and differ; left out
    elsewhere: set[str] = field(default_factory=set[str])  # what is no region; left out
    missing: list[str] = field(default_factory=list[str])  # requests without an answer, and why
    not_requested: list[str] = field(default_factory=list[str])  # because an earlier request had no answer

    def add(self, what: str, kind: str, region: str, before: Decimal | None, choice: Choice) -> Decimal | None:
        """Records a choice and returns its price, or None."""
        if choice.ambiguous:
            self.ambiguous.append(f"{what}, {kind}, {region}: {choice.ambiguous}")
        elif choice.price is not None and choice.price == before:
            self.unchanged += 1
        elif choice.price is not None:
            known = What.NEW if before is None else What.CHANGED
            subject, source = f"{what}, {kind}, {region}", _source(self.today)
            self.changes.append(Change(known, subject, price_table.plain(before), price_table.plain(choice.price), source))
        return choice.price


def refresh(
    url: str, sizes: Sequence[str], regions_given: Sequence[str], files: tuple[Path, Path], today: date
) -> tuple[Refreshed, int]:
    """Today's prices of sizes in regions, and how many are unchanged. Without an answer to every request, nothing changes.

    Args:
        sizes: none: all that have a price or are sold, and Container Apps.
        regions_given: none: all.
        files: of machines, and of Container Apps' meters.
    """
    result, renewal = Refreshed(), Renewal(today)
    try:
        old = price_table.read(files[0].read_text(encoding="utf-8"), str(files[0]))
        old_meters = container_apps.read(files[1].read_text(encoding="utf-8"), str(files[1]))
    except (OSError, ValueError) as error:
        result.failed[_NAME] = f"the price file can't be read: {error}"
        return result, 0
    requested = list(dict.fromkeys(regions.normalise(region) for region in regions_given))
    asked = [_spelt(size, old) for size in sizes] or _all_sizes(old, today)
    api = RetailPrices(url)
    try:
        new = machines(old, asked, requested, api, today, renewal)
        texts = {files[0]: price_table.write(new)}
        if not sizes:
            texts[files[1]] = container_apps.write(meters(old_meters, requested, api, today, renewal))
    finally:
        api.close()
    if not sizes and not renewal.missing and not (renewal.changes or renewal.unchanged):
        renewal.missing.append("the API has no price of any size")
    if renewal.missing:
        left = renewal.not_requested
        more = f"{len(left) - _NAMED} more" if len(left) > _NAMED else ""
        result.failed[_NAME] = "; ".join(
            [*renewal.missing, *(f"{what}: not requested" for what in (*left[:_NAMED], more) if what)]
        )
        return result, 0
    left_out = [*renewal.ambiguous, *(f"{each}: no row matches" for each in renewal.unknown)]
    left_out += [f"{each}: no region" for each in sorted(renewal.elsewhere)]
    result.texts = texts
    result.changes = [*renewal.changes, *(Change(What.LEFT_OUT, each, "", "", _source(today)) for each in left_out)]
    return result, renewal.unchanged


def _source(today: date) -> str:
    return f"{price_table.SOURCES[price_table.API]}, {today.isoformat()}"


def _spelt(size: str, rows: Sequence[PriceRow]) -> str:
    """A size as Azure spells it: the API is case-sensitive."""
    known = SIZES.find(size)
    if known is not None:
        return known.name
    name = normalise(size)
    return next((row.size for row in rows if row.size.lower() == name.lower()), name)


def _all_sizes(rows: Sequence[PriceRow], today: date) -> list[str]:
    """Every size that has a price, and every size with a GPU that is sold."""
    sold = {size.name for size in SIZES if size.gpu_count and size.lifecycle.status(today) is not Status.RETIRED}
    return sorted({_spelt(row.size, []) for row in rows} | sold)


def machines_filter(size: str) -> str:
    """The API's filter of the rows of one size."""
    quoted = size.replace("'", "''")
    return f"serviceName eq 'Virtual Machines' and armSkuName eq '{quoted}' and priceType eq 'Consumption'"


def machines(
    old: Sequence[PriceRow], sizes: Sequence[str], requested: Sequence[str], api: RetailPrices, today: date, renewal: Renewal
) -> list[PriceRow]:
    """The rows of virtual machines with today's prices of `sizes`, in the `requested` regions; none means all."""
    book = PriceBook(old)
    fresh: list[PriceRow] = []
    none: set[tuple[str, str]] = set()  # sizes and regions without a row
    for size in sizes:
        rows = _by_region(api, machines_filter(size), requested, size, renewal)
        if rows is None:
            continue
        for region in requested or sorted({*rows, *book.regions_of(size)}):
            on_demand = retail_prices.on_demand(rows.get(region, []), today)
            spot = retail_prices.spot(rows.get(region, []), today)
            old_price, old_spot = book.on_demand(size, region), book.spot(size, region)
            usd_hour = renewal.add(size, "on demand", region, old_price.usd_hour if old_price else None, on_demand)
            usd_hour_spot = renewal.add(size, "Spot", region, old_spot.usd_hour if old_spot else None, spot)
            if usd_hour is not None or usd_hour_spot is not None:
                fresh.append(PriceRow(size, region, usd_hour, usd_hour_spot, today, price_table.API))
            elif not on_demand.ambiguous and not spot.ambiguous:
                renewal.unknown.append(f"{size}, {region}")
                none.add((size.lower(), region))
        if not requested and not rows and not book.regions_of(size):
            renewal.unknown.append(f"{size}, everywhere")
    replaced = {(row.size.lower(), row.region) for row in fresh}
    gone = none - replaced
    for row in old:
        if row.source == price_table.API and (row.size.lower(), row.region) in gone:
            before = price_table.plain(row.usd_hour or row.usd_hour_spot)
            renewal.changes.append(Change(What.GONE, f"{row.size}, {row.region}", before, "", _source(today)))
    kept = [row for row in old if row.source != price_table.API or (row.size.lower(), row.region) not in replaced | gone]
    return kept + fresh


def meters(old: Sequence[MeterRow], requested: Sequence[str], api: RetailPrices, today: date, renewal: Renewal) -> list[MeterRow]:
    """The rows of Container Apps' meters with today's prices, in the `requested` regions; none means all."""
    filter_text = f"serviceName eq '{_CONTAINER_APPS}' and priceType eq 'Consumption'"
    rows = _by_region(api, filter_text, requested, _CONTAINER_APPS, renewal)
    if rows is None:
        return list(old)
    before = MeterPrices(old)
    fresh: list[MeterRow] = []
    for region in requested or sorted(rows):
        for meter in get_args(Meter):
            known = before.per_second(meter, region)
            choice = retail_prices.per_second(rows.get(region, []), meter, today)
            what = f"{meter} of Container Apps"
            price = renewal.add(what, "per second", region, known.usd_second if known else None, choice)
            if price is not None:
                fresh.append(MeterRow(meter, region, price, today, price_table.API))
            elif not choice.ambiguous:
                renewal.unknown.append(f"{what}, {region}")
    replaced = {(row.meter, row.region) for row in fresh}
    kept = [row for row in old if row.source != price_table.API or (row.meter, row.region) not in replaced]
    return kept + fresh


def _by_region(
    api: RetailPrices, filter_text: str, requested: Sequence[str], what: str, renewal: Renewal
) -> dict[str, list[dict[str, Any]]] | None:
    """The API's rows by region. None if it didn't answer, which `renewal` records; after that nothing more is requested."""
    if renewal.missing:
        renewal.not_requested.append(what)
        return None
    filters = [f"{filter_text} and armRegionName eq '{region}'" for region in requested] or [filter_text]
    try:
        rows = [row for one in filters for row in api.rows(one)]
    except SourceError as error:
        renewal.missing.append(f"{what}: {error}")
        return None
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        region = regions.normalise(str(row.get("armRegionName") or ""))
        if regions.may_be(region):
            found.setdefault(region, []).append(row)
        elif region:
            renewal.elsewhere.add(region)
    return found
