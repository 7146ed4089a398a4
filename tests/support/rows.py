"""Tests of tables: one test for all rows, which names every row that fails, in place of a test for each."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

_Param = type(pytest.param())


def each_row(
    names: str | Sequence[str], rows: Iterable[Any], ids: Iterable[object] | Callable[[Any], object] | None = None
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Decorates a test that takes one row, with the arguments of `pytest.mark.parametrize`."""
    single = isinstance(names, str) and "," not in names
    params = [each if isinstance(each, _Param) else pytest.param(*((each,) if single else each)) for each in rows]
    every = [each.values for each in params]
    if ids is None:
        labels = [str(each.id or each.values[0]) for each in params]
    else:
        labels = [str(ids(each[0])) for each in every] if callable(ids) else [str(each) for each in ids]

    def decorated(of_one: Callable[..., None]) -> Callable[[], None]:
        def of_all() -> None:
            assert every, "the table has no rows"
            wrong = [failed for label, row in zip(labels, every, strict=True) if (failed := failure(of_one, row, label))]
            assert not wrong, "\n".join([f"{len(wrong)} of {len(every)} rows:", *wrong])

        of_all.__name__, of_all.__qualname__ = of_one.__name__, of_one.__qualname__
        of_all.__module__, of_all.__doc__ = of_one.__module__, of_one.__doc__
        return of_all

    return decorated


def failure(of_one: Callable[..., None], row: Sequence[Any], label: str) -> str:
    try:
        of_one(*row)
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  each is told by its row
        return f"{label}: {type(error).__name__}: {error}"
    return ""
