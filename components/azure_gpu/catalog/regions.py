"""The regions of Azure's public cloud, by their names in ARM, from `regions.csv`.

The file is read at the first use. Any name of that form may be a region that Azure opened later, and is a warning.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import NamedTuple

from azure_gpu.catalog import listed, problems, sources, spelling, tables
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.sources import Source
from azure_gpu.catalog.tables import Row, Table

TABLE = Table(
    tables.beside(__file__, "regions.csv"),
    {
        "region": "as ARM spells it: westeurope",
        "display_name": "as the portal shows it: West Europe",
        "sources": "sources of the row",
    },
)


class Region(NamedTuple):
    """One region."""

    name: str  # as ARM spells it
    display_name: str  # as the portal shows it
    sources: tuple[Source, ...]


@cache
def known() -> Mapping[str, Region]:
    """The regions by their names in ARM. Their file is read at the first call."""
    return MappingProxyType(read(tables.by_name(tables.read(TABLE), "region"), sources.named()))


def read(rows: Mapping[str, Row], of_sources: Mapping[str, Source]) -> dict[str, Region]:
    """The regions of a table. Raises TableError for an invalid row."""
    found: dict[str, Region] = {}
    for name, row in rows.items():
        display_name = row.filled("display_name")
        if normalise(display_name) != name:
            raise row.wrong("region", f"{normalise(display_name)!r}, which is the display name without spaces, in lower case")
        if not row["sources"]:
            raise row.wrong("sources", "one or more sources")
        found[name] = Region(name, display_name, row.several("sources", of_sources, sources.WHERE))
    return found


@lru_cache(maxsize=1024)  # every rule asks about the same few regions
def normalise(region: str) -> str:
    """ARM's spelling: `West Europe` becomes `westeurope`. The region may not exist."""
    return region.replace(" ", "").lower()


def may_be(region: str) -> bool:
    """Whether the name has the form of a region's name. Azure opens regions, so that the list never has all of them."""
    return re.fullmatch(_NAME, normalise(region)) is not None


def check(region: str, path: str) -> list[Problem]:
    """Checks a region. One that isn't on the list may be newer than it, which is a warning; what can't be a name is an error."""
    name = normalise(region)
    if name in known() or listed.has("locations", "", name):
        return []
    if not may_be(name):
        return [refused("region.bad_name", path, region)]
    meant = spelling.slips(name, known())
    newest = max((source for each in known().values() for source in each.sources), key=lambda source: source.day)
    fix = f"write {meant[0]!r} if that is meant" if meant else "compare with `az account list-locations --output table`"
    return [problems.not_listed(path, "the region", region, listed.since("locations", "", newest), fix)]


_NAME = "(?!global$)[a-z]{4,}[0-9]?[a-z]*"  # eastus2euap is one
