"""Rows of tables beside the tests, in YAML: `tables/<name of the module>.yaml` has the rows of each test, by its name."""

import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.support.rows import each_row


def of_table(*names: str, more: Sequence[Any] = ()) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Decorates a test that takes one row, with the names of its arguments. `more`: rows that only a program can write."""

    def decorated(of_one: Callable[..., None]) -> Callable[[], None]:
        rows = [*rows_of(inspect.unwrap(of_one).__code__.co_filename, of_one.__name__.removeprefix("test_")), *more]
        return each_row(names[0] if len(names) == 1 else names, rows)(of_one)

    return decorated


def rows_of(module: str, test: str) -> list[Any]:
    """The rows of a test, of the module with this `__file__`: a value each, or the arguments in their order."""
    return _tables(Path(module))[test]


@functools.cache
def _tables(module: Path) -> dict[str, list[Any]]:
    table = module.parent / "tables" / f"{module.stem.removeprefix('test_')}.yaml"
    return yaml.load(table.read_text(encoding="utf-8"), yaml.CSafeLoader)
