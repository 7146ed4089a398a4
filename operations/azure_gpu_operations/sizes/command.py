"""The command line of `sizes`.

    sizes [--gpu A100] [--gpus 2] [--gpu-memory 80] [--region westeurope] [--service aks] …   cheapest first
    sizes --instead-of SIZE [--rdma] …    what replaces a size
    sizes show SIZE [--region R]          everything about one size, with its sources
    sizes retiring [--within 180d]        sizes that retire soon, by day and by what to use instead

Exit codes: 0 answered; 1 no size fits, or the size is unknown; 2 invalid command line, or no size can ever fit it.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from azure_gpu.catalog import offers, regions, search
from azure_gpu.catalog.lifecycle import WARNING_DAYS
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Code, Problem, errors
from azure_gpu.catalog.search import SizeQuery
from azure_gpu.catalog.size_use import TAKES_SIZES, Service
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Driver, Size
from azure_gpu.formats.dates import days_later
from azure_gpu_operations.command_line import day
from azure_gpu_operations.console import console
from azure_gpu_operations.sizes import facts, tables

_NUMBER = r"[0-9]{1,9}"
_SHOWN = 60  # characters


def add_arguments(sizes: argparse.ArgumentParser) -> None:
    _filters(sizes)
    _common(sizes, region="", as_of=datetime.now(UTC).date(), json=False, wide=False)
    sizes.set_defaults(run=_search)
    verbs = sizes.add_subparsers(dest="verb", metavar="show | retiring")
    show = verbs.add_parser("show", help="everything about one size, with its sources")
    show.add_argument("size", help="such as Standard_NC4as_T4_v3 or nc4as_t4_v3")
    _common(show)
    show.set_defaults(run=_show)
    retiring = verbs.add_parser("retiring", help="sizes that retire soon, and what to use instead")
    retiring.add_argument(
        "--within",
        type=_days,
        default=WARNING_DAYS,
        metavar="180d",
        help=f"number of days (default {WARNING_DAYS}d)",
    )
    _common(retiring)
    retiring.set_defaults(run=_retiring)


def _common(parser: argparse.ArgumentParser, **defaults: object) -> None:
    """`defaults`: of the options before the verb, which those after it must not overwrite."""
    text = "check as of this day, YYYY-MM-DD (default: today)"
    parser.add_argument("--region", type=regions.normalise, default=argparse.SUPPRESS, help="Azure region, such as westeurope")
    parser.add_argument("--as-of", type=day, default=argparse.SUPPRESS, help=text)
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="JSON, for programs")
    parser.add_argument("--wide", action="store_true", default=argparse.SUPPRESS, help="all columns, wider than the terminal")
    parser.set_defaults(**defaults)


def _filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--service", type=str.lower, choices=[service.value for service in TAKES_SIZES], default=Service.VIRTUAL_MACHINES.value
    )
    parser.add_argument("--gpu", default="", help="GPU model, whole words: A100, H100 NVL")
    parser.add_argument("--gpus", type=_count, help="number of GPUs: 2, 1/6, or 2+ for at least two")
    parser.add_argument("--gpu-memory", type=_whole, help="minimum GiB of each GPU")
    parser.add_argument("--vcpus", type=_whole, help="minimum number of vCPUs")
    parser.add_argument("--needs", type=_driver, help=f"driver that the software needs: {', '.join(Driver)}")
    parser.add_argument("--rdma", action="store_true", help="with InfiniBand")
    parser.add_argument("--mig", action="store_true", help="whose GPUs can be partitioned into MIG instances")
    parser.add_argument("--spot", action="store_true", help="use Spot prices")
    parser.add_argument("--max-price", type=_amount, help="maximum USD per hour")
    parser.add_argument("--instead-of", metavar="SIZE", help="sizes that replace this one")
    parser.add_argument("--why", action="store_true", help="also show why each other size is left out")


def _search(options: argparse.Namespace) -> int:
    count, at_least = options.gpus or (None, False)
    query = SizeQuery(
        service=Service(options.service),
        region=options.region,
        gpu=options.gpu,
        gpus=count,
        at_least=at_least,
        gpu_memory_gib=options.gpu_memory,
        vcpus=options.vcpus,
        needs=options.needs,
        rdma=options.rdma,
        mig=options.mig,
        spot=options.spot,
        most_usd_hour=options.max_price,
    )
    if options.instead_of is not None:
        size = SIZES.find(options.instead_of)
        if size is None:
            return _unknown(options.instead_of)
        query = search.like(size, query)
    if are_wrong(search.check(query)):
        return 2
    found = search.search(query, options.as_of, prices=packaged())
    shown = facts.answer(found, options.as_of)
    if options.json:
        print(json.dumps(shown, indent=2))
    else:
        tables.show_answer(console(), shown, options.why, options.wide)
    return 0 if found.matches else 1


def _show(options: argparse.Namespace) -> int:
    size = SIZES.find(options.size)
    if size is None:
        return _unknown(options.size)
    if options.region and are_wrong(regions.check(options.region, "--region")):
        return 2
    known = facts.whole(size, options.as_of, options.region, packaged())
    if options.json:
        print(json.dumps(known, indent=2))
    else:
        tables.show_size(console(), known, options.wide)
    return 0


def _retiring(options: argparse.Namespace) -> int:
    as_of, region = options.as_of, options.region
    if region and are_wrong(regions.check(region, "--region")):
        return 2
    until = days_later(as_of, options.within)
    rows = [row for size in SIZES for row in _ends(size, as_of, until, region)]
    rows.sort(key=lambda row: (row["end"], row["size"]))
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        tables.show_retiring(console(), rows, until.isoformat(), options.wide)
    return 0


def _ends(size: Size, as_of: date, until: date, region: str) -> list[dict[str, Any]]:
    """A row for each last day of the size from `as_of` to `until`: the general one, and those of regions that differ."""
    ends = {"everywhere": size.lifecycle.end} if not region else {region: size.lifecycle.end_in(region)}
    if not region:
        ends |= size.lifecycle.end_elsewhere
    return [
        {
            "size": size.name,
            "end": end.day.isoformat(),
            "days": (end.day - as_of).days,
            "where": where,
            "instead": _instead(size, days_later(end.day, 1), "" if where == "everywhere" else where),
            "source": str(end),
        }
        for where, end in ends.items()
        if end is not None and as_of <= end.day <= until
    ]


def _instead(size: Size, day: date, region: str) -> list[str]:
    use = offers.use_of(size, Service.VIRTUAL_MACHINES, region, rdma=size.rdma)
    problems = offers.check(use, day, prices=packaged())
    return [name for problem in problems if problem.code is Code.RETIRED for name in problem.instead]


def _unknown(name: str) -> int:
    print(f"error: {SIZES.unknown(name, 'size')}", file=sys.stderr)
    return 1


def _days(text: str) -> int:
    match = re.fullmatch(rf"({_NUMBER})d?", text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{_short(text)} is not a number of days; write 180d")
    return int(match[1])


def _whole(text: str) -> int:
    if re.fullmatch(rf"-?{_NUMBER}", text.strip()) is None:
        raise argparse.ArgumentTypeError(f"{_short(text)} is not an integer")
    return int(text)


def _count(text: str) -> tuple[Fraction, bool]:
    match = re.fullmatch(rf"({_NUMBER}(?:/[1-9]\d{{0,8}})?)(\+?)", text.strip(), re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError(f"{_short(text)} is not a number of GPUs; write 2, 1/6 or 2+")
    return Fraction(match[1]), bool(match[2])


def _driver(text: str) -> Driver:
    for driver in Driver:
        if driver.value.lower() == text.strip().lower():
            return driver
    raise argparse.ArgumentTypeError(f"{text!r} is not a kind of driver; write one of {', '.join(Driver)}")


def _amount(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite():
        raise argparse.ArgumentTypeError(f"{_short(text)} is not an amount of USD")
    return amount


def _short(text: str) -> str:
    """A given value in a message, cut to its beginning."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def are_wrong(problems: Iterable[Problem]) -> bool:
    """Reports errors and warnings; whether there is an error."""
    found = list(problems)
    for problem in found:
        print(f"{problem.severity.value}: {problem}", file=sys.stderr)
    return bool(errors(found))
