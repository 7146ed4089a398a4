"""The regions of Azure's public cloud, by the name that ARM answers with.

They are a list of their own, `regions.csv`, read when it is first asked for: neither sizes nor prices add to it. A region that
Azure opens later is refused until the list has it: misspelt regions cost more people more time than new ones.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import NamedTuple

from azure_gpu.catalog import sources, spelling, tables
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.sources import Source
from azure_gpu.catalog.tables import Row, Table

SOURCE = (
    "regions of the GPU price list made from Azure's Retail Prices API: Azure/karpenter-provider-azure, "
    "pkg/providers/pricing/zz_generated.pricing.go at 2b431da1, generated 2026-06-18"
)
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
    """The regions of a table. TableError where a row is malformed."""
    found: dict[str, Region] = {}
    for name, row in rows.items():
        display_name = row.filled("display_name")
        if normalise(display_name) != name:
            raise row.wrong("region", f"{normalise(display_name)!r}, which is the display name without spaces, in lower case")
        if not row["sources"]:
            raise row.wrong("sources", "one source or more")
        found[name] = Region(name, display_name, row.several("sources", of_sources, sources.WHERE))
    return found


@lru_cache(maxsize=1024)  # every rule asks about the same few regions
def normalise(region: str) -> str:
    """ARM's spelling: `West Europe` becomes `westeurope`. Says nothing about whether the region exists."""
    return region.replace(" ", "").lower()


def check(region: str, path: str) -> list[Problem]:
    """One problem where the region isn't among those known, else none."""
    name = normalise(region)
    if name in known():
        return []
    close = spelling.nearest(name, sorted(known()), 1)
    return [
        Problem(
            path=path,
            message="no region of Azure's public cloud is known by this name",
            value=region,
            allowed="one of the known regions, such as eastus, westeurope or swedencentral",
            fix=f"write {close[0]!r}" if close else "`az account list-locations --output table` shows every region",
            source=SOURCE,
        )
    ]
