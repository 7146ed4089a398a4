"""`python -m operations compare A B`: what differs between two environments.

    compare dev prod          each key that one has and the other hasn't, or that has another value
    compare dev prod --json   the same as one JSON object

Both files are read as the program reads them: with what they extend, and without what is switched off being left out. Encrypted
values can't be compared: that both have one is no difference.

Exit codes: 0 compared, 2 a file can't be read.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from azure_gpu_operations import planned, stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.console import columns, console

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
    parser.add_argument("second", metavar="B", help="another one")
    stack_options.add_config_folder(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def run(options: argparse.Namespace) -> int:
    files: tuple[Path, Path] = (stack_options.file_of(options, options.first), stack_options.file_of(options, options.second))
    try:
        found = list(differences(*(planned.whole(file) for file in files)))
    except planned.WrongStackFileError as error:
        return refuse(error)
    if options.json:
        rows = [{"key": each.key, options.first: each.first, options.second: each.second} for each in found]
        print(json.dumps({"differences": rows}, indent=2))
        return 0
    if not found:
        print(f"{options.first} and {options.second} have the same configuration")
        return 0
    table = Table(*columns("key", options.first, options.second), pad_edge=False)
    for each in found:
        table.add_row(each.key, *(MISSING if value is None else value for value in (each.first, each.second)))
    console().print(table)
    return 0


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[Difference]:
    """By key, each leaf of the two configurations that isn't the same in both."""
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
