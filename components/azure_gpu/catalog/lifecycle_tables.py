"""The table columns that describe a lifecycle, and tables of series with their lifecycles."""

from collections.abc import Mapping
from types import MappingProxyType

from azure_gpu.catalog import sources, tables
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.sources import Source
from azure_gpu.catalog.tables import Keyed, Row, Table

COLUMNS = {
    "seen": "the earliest source that has it",
    "preview": "whether it was ever a preview: yes or no",
    "general": "the source by whose date it had left preview",
    "announced": "the earliest source that announces the end",
    "end": "the source whose date is the last day on which it is available",
    "end_elsewhere": "regions with another last day: region=source",
    "also_given": "sources that give other last days, which the catalog doesn't use",
    "doubt": "a source that leaves open whether it is still sold; its date is the first such day: with an end, the day after it",
}


def read(row: Row, known: Mapping[str, Source]) -> Lifecycle:
    """Reads the lifecycle from the cells of `COLUMNS`, which name sources in `known`."""
    where = sources.WHERE
    lifecycle = Lifecycle(
        seen=row.one_of("seen", known, where),
        preview=row.yes("preview"),
        general=row.maybe("general", known, where),
        announced=row.maybe("announced", known, where),
        end=row.maybe("end", known, where),
        end_elsewhere=MappingProxyType(row.pairs("end_elsewhere", known, where)),
        also_given=row.several("also_given", known, where),
        doubt=row.maybe("doubt", known, where),
    )
    if lifecycle.general is not None and not lifecycle.preview:
        raise row.wrong("general", "an empty cell where preview is no")
    if lifecycle.announced is not None and lifecycle.end is None:
        raise row.wrong("announced", "an empty cell where end is empty")
    return lifecycle


def of_series(path: str) -> Mapping[str, Lifecycle]:
    """The lifecycle of each series in a service, from the file `path`, which is read at the first use."""
    table = Table(path, {"series": "a row of sizes/series.csv", **COLUMNS})
    return Keyed(lambda: {name: read(row, sources.named()) for name, row in tables.by_name(tables.read(table), "series").items()})
