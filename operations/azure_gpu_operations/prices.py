"""`prices`: shows list prices, and renews them from Azure's public Retail Prices API.

    prices show SIZE [--region R] [--json]                     what is known of a size's price, from which day and where
    prices refresh [--region R ...] [--size S ...] [--url URL] [--file FILE] [--container-apps-file FILE]

Exit codes: 0 done; 1 nothing is known about the size, or the refresh failed and the files are as they were; 2 the command line is
wrong.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from rich.table import Table

from azure_gpu.catalog import regions
from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.prices import VM_PRICES, Price, container_apps, notes, packaged, price_table
from azure_gpu.catalog.prices.container_apps import METER_PRICES
from azure_gpu.catalog.prices.price_table import PriceRow
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.lookup import normalise
from azure_gpu_operations import price_refresh
from azure_gpu_operations.console import columns, console
from azure_gpu_operations.price_refresh import Change, Renewal
from azure_gpu_operations.retail_prices import PUBLIC_URL, RetailPrices

_LISTED = 40  # of each kind of finding; the rest is counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True)
    shown = actions.add_parser("show", help="what is known of a size's price")
    shown.add_argument("size", help="in any spelling: Standard_NC6, nc6")
    shown.add_argument("--region", help="one region only")
    shown.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    shown.set_defaults(run=show)
    renewed = actions.add_parser("refresh", help="renew the price files from the Retail Prices API")
    renewed.add_argument("--region", action="append", default=[], help="only this region; may be repeated (default: all)")
    renewed.add_argument(
        "--size",
        action="append",
        default=[],
        help="only this size, and nothing of Container Apps; may be repeated (default: every size with a price or on sale)",
    )
    renewed.add_argument("--url", type=_web_address, default=PUBLIC_URL, help=f"where the API answers (default {PUBLIC_URL})")
    renewed.add_argument("--file", type=Path, default=VM_PRICES, help="the prices of virtual machines (default: the project's)")
    renewed.add_argument(
        "--container-apps-file", type=Path, default=METER_PRICES, help="the meters of Container Apps (default: the project's)"
    )
    renewed.set_defaults(run=refresh)


def show(options: argparse.Namespace) -> int:
    """Prints what is known of one size's prices."""
    if _unknown_regions([options.region] if options.region else []):
        return 2
    book, today = packaged(), datetime.now(UTC).date()
    known = [regions.normalise(options.region)] if options.region else book.regions_of(options.size)
    rows = [(region, book.on_demand(options.size, region), book.spot(options.size, region)) for region in known]
    rows = [row for row in rows if row[1] or row[2]]
    if not rows:
        close = SIZES.nearest(options.size) if SIZES.find(options.size) is None else ()
        hint = f"; nearest names: {', '.join(close)}" if close else ""
        where = f" in {known[0]}" if options.region else ""
        print(f"no price of {options.size} is known{where}{hint}", file=sys.stderr)
        return 1
    minded = [fact.value for fact in notes.about(options.size)]
    if options.json:
        data = {
            "size": _spelt(options.size, []),
            "prices": [
                {"region": region, "on_demand": _as_data(price, today), "spot": _as_data(spot, today)}
                for region, price, spot in rows
            ],
            "notes": minded,
        }
        print(json.dumps(data, indent=2))
        return 0
    table = Table(*columns("region", "on demand", "Spot", "source"), title=_spelt(options.size, []), title_justify="left")
    for region, price, spot in rows:
        sources = dict.fromkeys(one.source for one in (price, spot) if one)
        table.add_row(
            region, price.text(today) if price else "not known", spot.text(today) if spot else "not known", "; ".join(sources)
        )
    console().print(table)
    for note in minded:
        print(f"note: {note}")
    return 0


def refresh(options: argparse.Namespace) -> int:
    """Asks the API and replaces the price files, or leaves them as they are where it doesn't answer."""
    if _unknown_regions(options.region):
        return 2
    try:
        old = price_table.read(options.file.read_text(encoding="utf-8"), str(options.file))
        old_meters = container_apps.read(
            options.container_apps_file.read_text(encoding="utf-8"), str(options.container_apps_file)
        )
    except (OSError, ValueError) as error:
        print(f"error: the price file can't be read: {error}", file=sys.stderr)
        return 1
    today = datetime.now(UTC).date()
    wanted = list(dict.fromkeys(regions.normalise(region) for region in options.region))
    sizes = [_spelt(size, old) for size in options.size] or _all_sizes(old, today)
    renewal = Renewal()
    api = RetailPrices(options.url)
    try:
        texts = {options.file: price_table.write(price_refresh.machines(old, sizes, wanted, api, today, renewal))}
        if not options.size:
            fresh = price_refresh.meters(old_meters, wanted, api, today, renewal)
            texts[options.container_apps_file] = container_apps.write(fresh)
    finally:
        api.close()
    if renewal.missing:
        print("error: the API gave no answer for everything that was asked; no file was changed", file=sys.stderr)
        for line in (*renewal.missing, *(f"{what}: not asked after that" for what in _shortened(renewal.not_asked))):
            print(f"  {line}", file=sys.stderr)
        return 1
    try:
        price_refresh.replace_files(texts)
    except OSError as error:
        print(f"error: the price files can't be written: {error}", file=sys.stderr)
        return 1
    _summary(renewal)
    return 0


def _web_address(text: str) -> str:
    if not text.startswith(("https://", "http://")):
        raise argparse.ArgumentTypeError(f"{text!r} is no web address; it begins with https://")
    return text


def _unknown_regions(names: Sequence[str]) -> bool:
    """Says which regions aren't known; whether there are any."""
    problems = [problem for name in names for problem in regions.check_known(name, "--region")]
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return bool(problems)


def _spelt(size: str, rows: Sequence[PriceRow]) -> str:
    """A size as Azure spells it: the API compares letter case."""
    known = SIZES.find(size)
    if known is not None:
        return known.name
    name = normalise(size)
    return next((row.size for row in rows if row.size.lower() == name.lower()), name)


def _all_sizes(rows: Sequence[PriceRow], today: date) -> list[str]:
    """Every size that has a price or that is on sale, with a GPU."""
    sold = {size.name for size in SIZES if size.gpu_count and size.lifecycle.status(today) is not Status.RETIRED}
    return sorted({_spelt(row.size, []) for row in rows} | sold)


def _as_data(price: Price | None, today: date) -> dict[str, object] | None:
    if price is None:
        return None
    return {
        "usd_hour": float(price.usd_hour),
        "day": price.day.isoformat(),
        "stale": price.stale(today),
        "source": price.source,
    }


def _summary(renewal: Renewal) -> None:
    changed = [change for change in renewal.changes if change.before is not None]
    new = [change for change in renewal.changes if change.before is None]
    for title, changes in (("changed", changed), ("new", new)):
        if changes:
            console().print(_table(title, changes))
    for title, lines in (
        ("several rows match and differ, left out", renewal.ambiguous),
        ("no row matches; not known today", renewal.unknown),
        ("regions that the catalog doesn't know, left out", sorted(renewal.elsewhere)),
    ):
        if lines:
            print(f"{title}:")
            for line in _shortened(lines):
                print(f"  {line}")
    print(
        f"{len(changed)} changed, {len(new)} new, {renewal.unchanged} unchanged, {len(renewal.unknown)} not known, "
        f"{len(renewal.ambiguous)} left out"
    )


def _table(title: str, changes: Sequence[Change]) -> Table:
    headings = columns("what", "price", "region", "before", "now")
    table = Table(*headings, title=f"{title}: {len(changes)}", title_justify="left")
    for change in changes[:_LISTED]:
        before = price_table.plain(change.before) or "not known"
        table.add_row(change.what, change.kind, change.region, before, price_table.plain(change.after))
    if len(changes) > _LISTED:
        table.caption = f"and {len(changes) - _LISTED} more"
    return table


def _shortened(lines: Sequence[str]) -> list[str]:
    return [*lines[:_LISTED], *([f"and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else [])]
