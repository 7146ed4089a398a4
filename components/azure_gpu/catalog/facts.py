"""Facts that no rule decides by, kept with their sources: the documentation shows them, and the parts that need one find it.

In: what they are about: a module of `services` or `prices` by its dotted name (`batch.autoscale`), or one of the things below.
Out: the rows of `facts.csv`. What a rule decides by stands with the rule or in a table of its own instead.
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
        "about": "what it is about: a module, such as batch.autoscale",
        "name": "which property of it, unique among the facts about it",
        "value": "what the source says, in our words, with units",
        "source": "where it was read",
    },
)
# Beside modules: Azure, its clients and its images, which belong to no one service.
AZURE = "azure"
# And, of prices, what was left out, names that have a price and are no size, what a service asks for on top of its machines.
PRICES_LEFT_OUT, NOT_SIZES, SURCHARGES = "prices.left_out", "prices.not_sizes", "prices.surcharges"


class Fact(NamedTuple):
    """One row."""

    name: str
    value: str
    source: Source


def about(thing: str) -> tuple[Fact, ...]:
    """The facts about a thing, in the order of the file; KeyError where it has none."""
    return everything()[thing]


def one(thing: str, name: str) -> Fact:
    """The fact of that name about a thing; KeyError where there is none."""
    for fact in about(thing):
        if fact.name == name:
            return fact
    raise KeyError(name)


@cache
def everything() -> Mapping[str, tuple[Fact, ...]]:
    """All facts by what they are about. The file is read at the first call."""
    return read(tables.read(TABLE), sources.named())


def read(rows: Iterable[Row], known: Mapping[str, Source]) -> Mapping[str, tuple[Fact, ...]]:
    """The facts of a table's rows. TableError where a row is malformed, or tells again what another tells."""
    found: dict[str, dict[str, Fact]] = {}
    for row in rows:
        facts = found.setdefault(row.filled("about"), {})
        fact = Fact(row.filled("name"), row.filled("value"), row.one_of("source", known, sources.WHERE))
        if fact.name in facts:
            raise row.wrong("name", "a name that no other fact about the same has")
        facts[fact.name] = fact
    return MappingProxyType({thing: tuple(facts.values()) for thing, facts in found.items()})
