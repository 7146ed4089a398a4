"""How old what the packaged catalog knows is, and reading it again.

    catalog age [--as-of DAY]              the lists that are past their shelf life, with their source and how to refresh them
    catalog refresh                        prices, and Microsoft's published pages; no login
    catalog refresh --from azure           what Azure lists: locations, sizes, AKS versions, profiles; requires a login
    catalog refresh --from prices --size S --region R

A refresh prints each difference with its source and day, and writes the catalog's files together, or into --folder. A source that
gives no whole answer changes nothing and is named; the others are written.

Exit codes: `age` 0 nothing is due, 3 something is; `refresh` 0 all sources answered, 1 one didn't; 2 invalid command line.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from azure_gpu.catalog import regions
from azure_gpu.catalog.prices import VM_PRICES
from azure_gpu.catalog.prices.container_apps import METER_PRICES
from azure_gpu.formats.dates import SPELLING
from azure_gpu_operations.catalog.changes import Change, Refreshed, What
from azure_gpu_operations.command_line import day
from azure_gpu_operations.console import add_wide, console
from azure_gpu_operations.exit_codes import FAILED, OK
from azure_gpu_operations.sizes.command import are_wrong
from azure_gpu_operations.tables import Column, print_table

PUBLIC_URL = "https://prices.azure.com/api/retail/prices"  # of the Retail Prices API
DUE = 3
PRICES, PAGES, AZURE = "prices", "pages", "azure"
_LISTED = 40  # lines per kind of change; the rest is counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="age | refresh", required=True)
    age = verbs.add_parser("age", help="the lists that are past their shelf life, and how to refresh them")
    age.add_argument("--as-of", type=day, metavar="DAY", help=f"{SPELLING} (default: today)")
    age.add_argument("--all", action="store_true", help="also the lists that aren't due")
    age.set_defaults(run=_age)
    refresh = verbs.add_parser("refresh", help="read the lists again, and show what changed")
    text = "a source; may be repeated (default: prices and pages, which require no login)"
    refresh.add_argument("--from", dest="sources", action="append", choices=(PRICES, PAGES, AZURE), help=text)
    refresh.add_argument("--region", action="append", default=[], help="only this region; may be repeated (default: all)")
    text = "only prices of this size, without Container Apps; may be repeated (default: every size that has a price or is sold)"
    refresh.add_argument("--size", action="append", default=[], help=text)
    refresh.add_argument("--url", type=_web_address, default=PUBLIC_URL, help=f"of the Retail Prices API (default {PUBLIC_URL})")
    refresh.add_argument("--folder", type=Path, help="the folder of the catalog's files (default: each beside its module)")
    refresh.add_argument("--summary", type=Path, help="also write the differences to this file, as Markdown")
    refresh.set_defaults(run=_refresh)
    for each in (age, refresh):
        add_wide(each)
        each.add_argument("--json", action="store_true", help="one JSON object on standard output")


def _age(options: argparse.Namespace) -> int:
    from azure_gpu_operations.catalog import kept  # here: it loads every table

    as_of: date = options.as_of or datetime.now(UTC).date()
    rows = [(each, (as_of - each.last_day).days) for each in kept.lists()]
    due = [(each, days) for each, days in rows if days > 0]
    if options.json:
        found = [
            {
                "what": each.what,
                "kind": each.kind,
                "read": each.source.day.isoformat(),
                "holds_until": each.last_day.isoformat(),
                "due": days > 0,
                "source": each.source.where,
                "refresh": each.refresh,
            }
            for each, days in (rows if options.all else due)
        ]
        print(json.dumps({"as_of": as_of.isoformat(), "lists": found, "exit_code": DUE if due else OK}, indent=2))
        return DUE if due else OK
    shown = rows if options.all else due
    if shown:
        columns = [
            Column("list", [each.what for each, _ in shown], wraps=16),
            Column("read", [each.source.day.isoformat() for each, _ in shown]),
            Column("held until", [each.last_day.isoformat() for each, _ in shown]),
            Column("refresh", [each.refresh for each, _ in shown], 1, wraps=16),
            Column("source", [each.source.where for each, _ in shown], 0, wraps=16),
        ]
        print_table(console(), columns, wide=options.wide)
    print(f"{len(due)} of {len(rows)} lists are past their shelf life on {as_of.isoformat()}")
    return DUE if due else OK


def _refresh(options: argparse.Namespace) -> int:
    sources = options.sources or ([PRICES] if options.size else [PRICES, PAGES])
    if are_wrong([problem for name in options.region for problem in regions.check(name, "--region")]):
        return 2
    folder = {path.name: path for path in sorted(options.folder.glob("*.csv"))} if options.folder else {}
    today = datetime.now(UTC).date()
    result, unchanged = Refreshed(), 0
    if PRICES in sources:
        from azure_gpu_operations.catalog import prices  # here: its client loads slowly

        files = tuple(folder.get(Path(each).name, Path(each)) for each in (VM_PRICES, METER_PRICES))
        of_prices, unchanged = prices.refresh(options.url, options.size, options.region, (files[0], files[1]), today)
        result.add(of_prices)
    if PAGES in sources:
        from azure_gpu_operations.catalog import pages

        result.add(pages.refresh(folder))
    if AZURE in sources:
        result.add(_of_azure([regions.normalise(each) for each in options.region], today, folder))
    try:
        replace_files(result.texts)
        if options.summary:
            options.summary.write_text("".join(f"{line}\n" for line in result.as_markdown()), encoding="utf-8")
    except OSError as error:
        result.failed["files"] = f"can't be written: {error}"
    if options.json:
        print(json.dumps(result.as_json(), indent=2))
    else:
        _show(result, unchanged, options.wide)
    return FAILED if result.failed else OK


def _of_azure(only: Sequence[str], today: date, folder: Mapping[str, Path]) -> Refreshed:
    from azure_gpu_operations.catalog import azure_lists  # here: Azure's clients load slowly
    from azure_gpu_operations.connection import connection_from
    from azure_gpu_operations.preflight import online

    connection = connection_from({}, os.environ)
    login = online.reached(connection)
    if isinstance(login, str):
        return Refreshed(failed={"Azure": login})
    return azure_lists.refresh(login, connection.subscription_id, only, today, folder)


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


def _show(result: Refreshed, unchanged: int, wide: bool) -> None:
    for what in What:
        changes = [change for change in result.changes if change.what is what]
        if changes:
            print_table(console(), _columns(changes[:_LISTED]), title=f"{what}: {len(changes)}", wide=wide)
            if len(changes) > _LISTED:
                print(f"and {len(changes) - _LISTED} more")
    for name, reason in result.failed.items():
        print(f"error: {name}: nothing was changed: {reason}", file=sys.stderr)
    counts = [f"{sum(change.what is what for change in result.changes)} {what}" for what in What]
    print(f"{', '.join(counts)}, {unchanged} prices unchanged; files: {', '.join(path.name for path in result.texts) or 'none'}")


def _columns(changes: Sequence[Change]) -> list[Column]:
    return [
        Column("what", [change.subject for change in changes], wraps=24),
        Column("before", [change.before for change in changes], 1),
        Column("now", [change.after for change in changes], 2),
        Column("source", [change.source for change in changes], 0, wraps=24),
    ]


def _web_address(text: str) -> str:
    if not text.startswith(("https://", "http://")):
        raise argparse.ArgumentTypeError(f"{text[:60]!r} is not a valid URL; it begins with https://")
    return text
