"""`prices`: shows list prices, and updates them from Azure's public Retail Prices API.

    prices show SIZE [--region R] [--json] [--wide]            a size's list prices by region, with their dates and sources
    prices refresh [--region R ...] [--size S ...] [--url URL] [--file FILE] [--container-apps-file FILE] [--wide]

Exit codes: 0 done; 1 no price is known, or the refresh failed and the files are unchanged; 2 invalid command line.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from azure_gpu.catalog import regions
from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.prices import VM_PRICES, Price, container_apps, notes, packaged, price_table
from azure_gpu.catalog.prices.container_apps import METER_PRICES
from azure_gpu.catalog.prices.price_table import PriceRow
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.lookup import normalise
from azure_gpu_operations import price_refresh
from azure_gpu_operations.console import console
from azure_gpu_operations.price_refresh import Change, Renewal
from azure_gpu_operations.retail_prices import PUBLIC_URL, RetailPrices
from azure_gpu_operations.tables import Column, print_table

_LISTED = 40  # lines per kind of change; the rest is counted
_SOURCE = 40  # characters below which a source isn't readable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True)
    shown = actions.add_parser("show", help="list prices of a size")
    shown.add_argument("size", help="such as Standard_NC6 or nc6")
    shown.add_argument("--region", help="only this region")
    shown.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    _add_wide(shown)
    shown.set_defaults(run=show)
    renewed = actions.add_parser("refresh", help="update the price files from the Retail Prices API")
    renewed.add_argument("--region", action="append", default=[], help="only this region; may be repeated (default: all)")
    renewed.add_argument(
        "--size",
        action="append",
        default=[],
        help="only this size, without Container Apps; may be repeated (default: every size that has a price or is sold)",
    )
    renewed.add_argument("--url", type=_web_address, default=PUBLIC_URL, help=f"address of the API (default {PUBLIC_URL})")
    renewed.add_argument("--file", type=Path, default=VM_PRICES, help="price file of virtual machines (default: the catalog's)")
    renewed.add_argument(
        "--container-apps-file",
        type=Path,
        default=METER_PRICES,
        help="price file of Container Apps' meters (default: the catalog's)",
    )
    _add_wide(renewed)
    renewed.set_defaults(run=refresh)


def _add_wide(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--wide", action="store_true", help="all columns, wider than the terminal")


def show(options: argparse.Namespace) -> int:
    """Prints the list prices of one size."""
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
    remarks = [fact.value for fact in notes.about(options.size)]
    if options.json:
        data = {
            "size": _spelt(options.size, []),
            "prices": [
                {"region": region, "on_demand": _as_data(price, today), "spot": _as_data(spot, today)}
                for region, price, spot in rows
            ],
            "notes": remarks,
        }
        print(json.dumps(data, indent=2))
        return 0
    sources = ["; ".join(dict.fromkeys(one.source for one in (price, spot) if one)) for _, price, spot in rows]
    columns = [
        Column("region", [region for region, _, _ in rows]),
        Column("USD/hour", [_usd(price) for _, price, _ in rows], 4),
        Column("as of", [_day(price, today) for _, price, _ in rows], 2),
        Column("Spot USD/hour", [_usd(spot) for _, _, spot in rows], 3),
        Column("as of", [_day(spot, today) for _, _, spot in rows], 1),
        Column("source", sources, 0, wraps=_SOURCE),
    ]
    print_table(console(), columns, title=_spelt(options.size, []), wide=options.wide)
    for note in remarks:
        print(f"note: {note}")
    return 0


def refresh(options: argparse.Namespace) -> int:
    """Replaces the price files with the API's prices; if it doesn't answer every request, no file changes."""
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
    requested = list(dict.fromkeys(regions.normalise(region) for region in options.region))
    sizes = [_spelt(size, old) for size in options.size] or _all_sizes(old, today)
    renewal = Renewal()
    api = RetailPrices(options.url)
    try:
        texts = {options.file: price_table.write(price_refresh.machines(old, sizes, requested, api, today, renewal))}
        if not options.size:
            fresh = price_refresh.meters(old_meters, requested, api, today, renewal)
            texts[options.container_apps_file] = container_apps.write(fresh)
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


def _web_address(text: str) -> str:
    if not text.startswith(("https://", "http://")):
        raise argparse.ArgumentTypeError(f"{text!r} is not a valid URL; it begins with https://")
    return text


def _unknown_regions(names: Sequence[str]) -> bool:
    """Whether a region is unknown, which is then reported."""
    problems = [problem for name in names for problem in regions.check_known(name, "--region")]
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return bool(problems)


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


def _as_data(price: Price | None, today: date) -> dict[str, object] | None:
    if price is None:
        return None
    return {
        "usd_hour": float(price.usd_hour),
        "day": price.day.isoformat(),
        "stale": price.stale(today),
        "source": price.source,
    }


def _usd(price: Price | None) -> str:
    return price_table.plain(price.usd_hour) if price else "not known"


def _day(price: Price | None, today: date) -> str:
    return f"{price.day.isoformat()}{', stale' if price.stale(today) else ''}" if price else ""


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
        ("left out: regions that aren't in the catalog", sorted(renewal.elsewhere)),
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
