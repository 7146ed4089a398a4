"""Sources: where a fact was read, and what its date means.

*Valid from*: the day on which the fact began (or a service ended), by the source. *Observed on*: the day on which the source said
so. If only the month of a source is known, the date is the last day of the month. Tables refer to the sources of `sources.csv` by
their keys, which end in the date; `named` reads them. Sources of rules are also constants here, because rules must not read files
at import; a test compares both.

Past its shelf life (`DAYS`) a list proves nothing: what it lacks and what it ends is "not listed since", which refuses nothing. A
price is shown with its day at any age. `operations catalog age` shows what is due.
"""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from functools import cache
from typing import Literal, NamedTuple, get_args

from azure_gpu.catalog import tables
from azure_gpu.catalog.tables import Row, Table

FACTS_DAY = date(2026, 11, 20)  # on which the facts were last gathered; the date of sources without a date


Dated = Literal[
    "valid from",
    "observed on",
]
"""What the date of a source means."""


class Source(NamedTuple):
    """One source. Its text form is what a problem shows: `Microsoft Learn, ... (observed on 2025-11-17)`."""

    where: str
    dated: Dated
    day: date

    def __str__(self) -> str:
        return f"{self.where} ({self.dated} {self.day.isoformat()})"


def observed(where: str, year: int, month: int, day: int) -> Source:
    """A source that was observed on that day."""
    return Source(where, "observed on", date(year, month, day))


def valid_from(where: str, year: int, month: int, day: int) -> Source:
    """A source of what began, or ended, on that day."""
    return Source(where, "valid from", date(year, month, day))


TABLE = Table(
    tables.beside(__file__, "sources.csv"),
    {
        "key": "a short name, @ and the date; tables refer to the source by it",
        "title": "whose page or file, and which",
        "dated": "what the date means: valid from, observed on",
        "date": "the day: of the fact itself, or of the reading",
    },
)
WHERE = "a key of sources.csv"  # what a column that refers to it allows


class Sources(Mapping[str, Source]):
    """The sources of a table's text by their keys. A row is parsed at its first use, because few are needed at once.

    Raises TableError for a wrong header or a duplicate key, and, at its first use, for an invalid row.
    """

    def __init__(self, text: str) -> None:
        self._lines = tables.by_key(TABLE, text)
        self._found: dict[str, Source] = {}

    def __getitem__(self, key: str) -> Source:
        if key not in self._found:
            self._found[key] = _source(Row(TABLE, *self._lines[key]))
        return self._found[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


def _source(row: Row) -> Source:
    key = row.filled("key")
    source = Source(row.filled("title"), row.one_of("dated", get_args(Dated)), row.day("date"))
    if not key.endswith(f"@{source.day.isoformat()}") or " " in key or ";" in key or "=" in key:
        raise row.wrong("key", f"a short name without spaces that ends in @{source.day.isoformat()}")
    return source


@cache
def named() -> Sources:
    """The sources that the tables name, by their keys. The file is read at the first call."""
    return Sources(tables.text_of(TABLE.path))


# Sources of rules.
BATCH_ARTICLE = observed(
    "Microsoft Docs, Azure Batch: use compute-intensive virtual machines (article of 2018-12-17)", 2018, 12, 17
)
RETIREMENTS = observed("Microsoft Learn, virtual-machines/sizes/lifecycle/retirements-and-capacity-restrictions", 2026, 9, 25)


Knowledge = Literal[
    "prices",
    "lists",  # of what a service takes, and where
    "ends",
]
"""The kinds of knowledge, by how fast they change."""
DAYS: Mapping[Knowledge, int] = {"prices": 60, "lists": 90, "ends": 365}


def holds(kind: Knowledge, read: date, as_of: date) -> bool:
    """Whether what was read on the day `read` still tells what isn't there. Of earlier days it tells as much as of its own."""
    return as_of <= read + timedelta(days=DAYS[kind])


def end_holds(end: date, as_of: date) -> bool:
    """Whether an end that has passed is certain: it had passed when the ends were read, or they were read lately."""
    return end <= FACTS_DAY or holds("ends", FACTS_DAY, as_of)
