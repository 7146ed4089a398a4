"""`sizes refresh`: updates the price files from Azure's public Retail Prices API."""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from azure_gpu.catalog import regions
from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.prices import VM_PRICES, container_apps, price_table
from azure_gpu.catalog.prices.container_apps import METER_PRICES
from azure_gpu.catalog.prices.price_table import PriceRow
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.lookup import normalise
from azure_gpu_operations.console import console
from azure_gpu_operations.sizes import price_refresh
from azure_gpu_operations.sizes.arguments import are_wrong
from azure_gpu_operations.sizes.price_refresh import Change, Renewal
from azure_gpu_operations.sizes.retail_prices import RetailPrices
from azure_gpu_operations.tables import Column, print_table

_LISTED = 40  # lines per kind of change; the rest is counted


def refresh(options: argparse.Namespace) -> int:
    """Replaces the price files with the API's prices; if it doesn't answer every request, no file changes."""
    if are_wrong([problem for name in options.region for problem in regions.check(name, "--region")]):
        return 2
    file, meters_file = Path(options.file or VM_PRICES), Path(options.container_apps_file or METER_PRICES)
    try:
        old = price_table.read(file.read_text(encoding="utf-8"), str(file))
        old_meters = container_apps.read(meters_file.read_text(encoding="utf-8"), str(meters_file))
    except (OSError, ValueError) as error:
        print(f"error: the price file can't be read: {error}", file=sys.stderr)
        return 1
    today = datetime.now(UTC).date()
    requested = list(dict.fromkeys(regions.normalise(region) for region in options.region))
    sizes = [_spelt(size, old) for size in options.size] or _all_sizes(old, today)
    renewal = Renewal()
    api = RetailPrices(options.url)
    try:
        texts = {file: price_table.write(price_refresh.machines(old, sizes, requested, api, today, renewal))}
        if not options.size:
            fresh = price_refresh.meters(old_meters, requested, api, today, renewal)
            texts[meters_file] = container_apps.write(fresh)
    finally:
        api.close()
    if renewal.missing:
        print("error: the API didn't answer every request; no file was changed", file=sys.stderr)
        for line in (*renewal.missing, *(f"{what}: not requested" for what in _shortened(renewal.not_requested))):
            print(f"  {line}", file=sys.stderr)
        return 1
    try:
        price_refresh.replace_files(texts)
    except OSError as error:
        print(f"error: the price files can't be written: {error}", file=sys.stderr)
        return 1
    _summary(renewal, options.wide)
    return 0


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


def _summary(renewal: Renewal, wide: bool) -> None:
    changed = [change for change in renewal.changes if change.before is not None]
    new = [change for change in renewal.changes if change.before is None]
    for title, changes in (("changed", changed), ("new", new)):
        if changes:
            print_table(console(), _columns(changes[:_LISTED]), title=f"{title}: {len(changes)}", wide=wide)
            if len(changes) > _LISTED:
                print(f"and {len(changes) - _LISTED} more")
    for title, lines in (
        ("left out: several rows match and differ", renewal.ambiguous),
        ("unknown: no row matches", renewal.unknown),
        ("left out: what is no region", sorted(renewal.elsewhere)),
    ):
        if lines:
            print(f"{title}:")
            for line in _shortened(lines):
                print(f"  {line}")
    print(
        f"{len(changed)} changed, {len(new)} new, {renewal.unchanged} unchanged, {len(renewal.unknown)} unknown, "
        f"{len(renewal.ambiguous)} left out"
    )


def _columns(changes: Sequence[Change]) -> list[Column]:
    return [
        Column("what", [change.what for change in changes]),
        Column("price", [change.kind for change in changes], 1),
        Column("region", [change.region for change in changes]),
        Column("before", [price_table.plain(change.before) or "not known" for change in changes], 0),
        Column("now", [price_table.plain(change.after) for change in changes]),
    ]


def _shortened(lines: Sequence[str]) -> list[str]:
    return [*lines[:_LISTED], *([f"and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else [])]
