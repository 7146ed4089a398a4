"""Updates the rows of the price files from the Retail Prices API. Only `replace_files` writes, whole files at once."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from azure_gpu.catalog import regions
from azure_gpu.catalog.prices import PriceBook, price_table
from azure_gpu.catalog.prices.container_apps import Meter, MeterPrices, MeterRow
from azure_gpu.catalog.prices.price_table import PriceRow
from azure_gpu_operations.sizes import retail_rows
from azure_gpu_operations.sizes.retail_prices import RetailPrices, RetailPricesError
from azure_gpu_operations.sizes.retail_rows import Choice

_CONTAINER_APPS = "Azure Container Apps"


@dataclass(frozen=True, slots=True)
class Change:
    """A changed price. `before` None: no price was known."""

    what: str  # Standard_NC4as_T4_v3, or T4 of Container Apps
    kind: str  # on demand, Spot, or per second
    region: str
    before: Decimal | None
    after: Decimal


@dataclass(slots=True)
class Renewal:
    """The result of one refresh. If `missing` isn't empty, the files must not be written."""

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
            self.changes.append(Change(what, kind, region, before, choice.price))
        return choice.price


def machines(
    old: Sequence[PriceRow], sizes: Sequence[str], requested: Sequence[str], api: RetailPrices, today: date, renewal: Renewal
) -> list[PriceRow]:
    """The rows of virtual machines with today's prices of `sizes`, in the `requested` regions; none means all."""
    book = PriceBook(old)
    fresh: list[PriceRow] = []
    for size in sizes:
        quoted = size.replace("'", "''")
        filter_text = f"serviceName eq 'Virtual Machines' and armSkuName eq '{quoted}' and priceType eq 'Consumption'"
        rows = _by_region(api, filter_text, requested, size, renewal)
        if rows is None:
            continue
        for region in requested or sorted({*rows, *book.regions_of(size)}):
            on_demand = retail_rows.on_demand(rows.get(region, []), today)
            spot = retail_rows.spot(rows.get(region, []), today)
            old_price, old_spot = book.on_demand(size, region), book.spot(size, region)
            usd_hour = renewal.add(size, "on demand", region, old_price.usd_hour if old_price else None, on_demand)
            usd_hour_spot = renewal.add(size, "Spot", region, old_spot.usd_hour if old_spot else None, spot)
            if usd_hour is not None or usd_hour_spot is not None:
                fresh.append(PriceRow(size, region, usd_hour, usd_hour_spot, today, price_table.API))
            elif not on_demand.ambiguous and not spot.ambiguous:
                renewal.unknown.append(f"{size}, {region}")
        if not requested and not rows and not book.regions_of(size):
            renewal.unknown.append(f"{size}, everywhere")
    replaced = {(row.size.lower(), row.region) for row in fresh}
    kept = [row for row in old if row.source != price_table.API or (row.size.lower(), row.region) not in replaced]
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
        for meter in Meter:
            known = before.per_second(meter, region)
            choice = retail_rows.per_second(rows.get(region, []), meter, today)
            what = f"{meter.value} of Container Apps"
            price = renewal.add(what, "per second", region, known.usd_second if known else None, choice)
            if price is not None:
                fresh.append(MeterRow(meter, region, price, today, price_table.API))
            elif not choice.ambiguous:
                renewal.unknown.append(f"{what}, {region}")
    replaced = {(row.meter, row.region) for row in fresh}
    kept = [row for row in old if row.source != price_table.API or (row.meter, row.region) not in replaced]
    return kept + fresh


def replace_files(texts: Mapping[Path, str]) -> None:
    """Writes each file atomically: a reader sees the old text or the new one. Raises OSError."""
    written: list[tuple[Path, Path]] = []
    try:
        for path, text in texts.items():
            with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="\n", dir=path.parent, delete=False) as new:
                written.append((path, Path(new.name)))
                new.write(text)
                new.flush()
                os.fsync(new.fileno())
            Path(new.name).chmod(0o644)
        for path, beside in written:
            beside.replace(path)
    finally:
        for _, beside in written:
            beside.unlink(missing_ok=True)


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
    except RetailPricesError as error:
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
