"""The ends of series without a GPU, which system pools, endpoints and pools of Batch use, from Microsoft's page of ends.

The table has the page's rows by their names there. A series that isn't on it has no announced end.
"""

import re
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import lifecycle, tables
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.sizes.lookup import PREFIX, normalise
from azure_gpu.catalog.sources import RETIREMENTS, Source, observed
from azure_gpu.catalog.tables import Listed, Table

TABLE = Table(
    tables.beside(__file__, "cpu_series.csv"),
    {
        "series": "as the page names it",
        "pattern": "its sizes, without Standard_, in capital letters where the names have them",
        "announced": "the day of the announcement; empty: the page gives none",
        "end": "the last day on which it is available",
    },
)


class CpuSeries(NamedTuple):
    """One row of the page."""

    name: str
    pattern: str
    announced: str  # as the table has it
    lifecycle: Lifecycle


SERIES: Sequence[CpuSeries] = Listed(
    lambda: (
        CpuSeries(
            name,
            row.filled("pattern"),
            row["announced"],
            Lifecycle(seen=_SEEN, end=Source(f"{RETIREMENTS.where}: {name}", "valid from", row.day("end"))),
        )
        for name, row in tables.by_name(tables.read(TABLE), "series").items()
    )
)
_SEEN = observed(RETIREMENTS.where, 2015, 1, 1)  # older than every question: only the ends are known


def find(size_name: str) -> CpuSeries | None:
    """The series of a size, by any spelling of its name; None if the page has none of its."""
    name = normalise(size_name).removeprefix(PREFIX)
    return next((each for each in SERIES if re.fullmatch(each.pattern, name, re.IGNORECASE)), None)


def check(size_name: str, as_of: date, path: str) -> list[Problem]:
    """The end of the size's series, if it is near or past. The machines can't be had by new subscriptions before."""
    series = find(size_name)
    if series is None:
        return []
    fix = "choose a size of a later version of the series, such as Standard_D4s_v5"
    what = f"{normalise(size_name)}, of the {series.name} without a GPU,"
    return lifecycle.check(series.lifecycle, what, as_of, path=path, value=size_name, fix=fix)
