"""Compares the configurations of two stacks.

    compare dev prod          each key whose values differ, or that only one of them has
    compare dev prod --json   the same as one JSON object

Both files are read together with the files that they extend; parts with `enabled: false` are included. Encrypted values can't be
compared and count as equal.

Exit codes: 0 compared, 2 a file can't be read.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu_operations import planned, stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.console import add_wide, console
from azure_gpu_operations.tables import Heading, of_rows, print_table, total_width, width_of

MISSING = "-"
_NOTHING = "{}"


class Difference(NamedTuple):
    """A key's values as text in JSON, None where an environment doesn't have it."""

    key: str  # `clusters.shared.tier`; a key of a provider with its namespace
    first: str | None
    second: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    parser.add_argument("first", metavar="A", help="a stack's name")
    parser.add_argument("second", metavar="B", help="name of another stack")
    stack_options.add_config_folder(parser)
    add_wide(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def run(options: argparse.Namespace) -> int:
    files: tuple[Path, Path] = (stack_options.file_of(options, options.first), stack_options.file_of(options, options.second))
    try:
        found = list(differences(*(planned.whole(file) for file in files)))
    except planned.UnreadableStackFileError as error:
        return refuse(error)
    if options.json:
        rows = [{"key": each.key, options.first: each.first, options.second: each.second} for each in found]
        print(json.dumps({"differences": rows}, indent=2))
        return 0
    if not found:
        print(f"{options.first} and {options.second} have identical configurations")
        return 0
    rows = [tuple(MISSING if text is None else text for text in each) for each in found]
    headings = (Heading("key"), Heading(options.first, wraps=12), Heading(options.second, wraps=12))
    out, columns = console(), of_rows(headings, rows)
    if (width := width_of(out, options.wide)) and total_width([each.least_width for each in columns]) > width:
        for key, *values in rows:
            out.print(key, markup=False, soft_wrap=True)
            for name, value in zip((options.first, options.second), values, strict=True):
                out.print(f"  {name}: {value}", markup=False, soft_wrap=True)
    else:
        print_table(out, columns, wide=options.wide)
    return 0


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[Difference]:
    """Each leaf that differs between the two configurations, by key."""
    ours, theirs = dict(_leaves(first, "")), dict(_leaves(second, ""))
    keys = sorted(ours.keys() | theirs.keys())
    for key in keys:
        one, other = ours.get(key), theirs.get(key)
        is_empty = _NOTHING in (one, other) and any(each.startswith(f"{key}.") for each in keys)  # its keys tell the difference
        if one != other and not is_empty:
            yield Difference(key, one, other)


def _leaves(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Every value that isn't a mapping with keys in it: a list is one value."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value if isinstance(value, str) else json.dumps(value)
