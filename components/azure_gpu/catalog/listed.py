"""What Azure's own lists had when `operations catalog refresh --from azure` last read them, from `listed.csv`.

A row is a whole list of one place. What is on it is there; what isn't may have been added since. Quotas and restrictions are a
subscription's own: they are asked for each time, and never kept.
"""

from collections.abc import Mapping
from functools import cache
from typing import Literal, NamedTuple, get_args

from azure_gpu.catalog import tables
from azure_gpu.catalog.sources import Source
from azure_gpu.catalog.tables import Table

Azure = Literal[
    "locations",  # of a subscription; no place
    "VM sizes",
    "Kubernetes versions of AKS",
    "workload profiles of Container Apps",
    "VM sizes of Batch",
    "VM sizes of Azure Machine Learning",
]
"""The lists, by what they list."""


TABLE = Table(
    tables.beside(__file__, "listed.csv"),
    {
        "list": f"what is listed: {', '.join(get_args(Azure))}",
        "place": "the region, as ARM spells it; empty for a list of regions",
        "names": "all that is on the list, in lower case",
        "day": "on which Azure was asked",
    },
)


class Reading(NamedTuple):
    """One list as it was read."""

    names: frozenset[str]  # in lower case
    source: Source


def read(text: str) -> dict[tuple[Azure, str], Reading]:
    """The lists of a table's text, by their place. Raises TableError for an invalid row or a second one of a list."""
    found: dict[tuple[Azure, str], Reading] = {}
    for row in tables.rows(TABLE, text):
        what, place = row.one_of("list", get_args(Azure)), row["place"]
        if (what, place) in found:
            raise row.wrong("place", "one row for each list and place")
        where = f"Azure's list of {what}{f' in {place}' if place else ''}"
        found[what, place] = Reading(frozenset(row.texts("names")), Source(where, "observed on", row.day("day")))
    return found


def write(found: Mapping[tuple[Azure, str], Reading]) -> str:
    """The table's text, sorted by list and place."""
    lines = [
        tables.line_of([what, place, tables.SEPARATOR.join(sorted(reading.names)), reading.source.day.isoformat()])
        for (what, place), reading in sorted(found.items())
    ]
    return "".join(f"{line}\n" for line in (",".join(TABLE.columns), *lines))


@cache
def known() -> Mapping[tuple[Azure, str], Reading]:
    """The lists that come with the catalog. Their file is read at the first call."""
    return read(tables.text_of(TABLE.path))


def has(what: Azure, place: str, name: str) -> bool:
    """Whether the list of that place has the name, in any letter case. False proves nothing."""
    reading = known().get((what, place))
    return reading is not None and name.lower() in reading.names


def since(what: Azure, place: str, otherwise: Source) -> Source:
    """The list of that place, if it was read later than the one that the catalog has otherwise."""
    reading = known().get((what, place))
    return reading.source if reading is not None and reading.source.day > otherwise.day else otherwise
