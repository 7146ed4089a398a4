"""Facts that no rule depends on and that the program shows, with their sources.

Facts are about a subject of `services` or `prices` (`batch.autoscale`), or about Azure. Those that only `docs/catalog.md` shows
are in `docs/facts.csv`, in the same form. Facts that a rule depends on are with the rule or in a separate table.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from azure_gpu.catalog import sources, tables
from azure_gpu.catalog.sources import Source
from azure_gpu.catalog.tables import Row, Table

TABLE = Table(
    tables.beside(__file__, "facts.csv"),
    {
        "about": "what it is about, such as batch.autoscale: the service, and a subject of it",
        "name": "which property of it, unique among the facts about it",
        "value": "what the source says, in our words, with units",
        "source": "where it was read",
    },
)
NOT_SIZES = "prices.not_sizes"  # names with a price that aren't sizes


class Fact(NamedTuple):
    """One row."""

    name: str
    value: str
    source: Source


def about(thing: str) -> tuple[Fact, ...]:
    """The facts about a thing, in the order of the file; Raises KeyError if there is none."""
    return everything()[thing]


def one(thing: str, name: str) -> Fact:
    """The fact of that name about a thing; Raises KeyError if there is none."""
    for fact in about(thing):
        if fact.name == name:
            return fact
    raise KeyError(name)


@cache
def everything() -> Mapping[str, tuple[Fact, ...]]:
    """All facts by what they are about. The file is read at the first call."""
    return read(tables.read(TABLE), sources.named())


def read(rows: Iterable[Row], known: Mapping[str, Source]) -> Mapping[str, tuple[Fact, ...]]:
    """The facts of a table's rows. Raises TableError for an invalid row or a duplicate fact."""
    found: dict[str, dict[str, Fact]] = {}
    for row in rows:
        facts = found.setdefault(row.filled("about"), {})
        fact = Fact(row.filled("name"), row.filled("value"), row.one_of("source", known, sources.WHERE))
        if fact.name in facts:
            raise row.wrong("name", "a name that no other fact about the same has")
        facts[fact.name] = fact
    return MappingProxyType({thing: tuple(facts.values()) for thing, facts in found.items()})
