"""The regions of Azure's public cloud, by their names in ARM, from `regions.csv`.

The file is read at the first use. A name close to that of a known region is an error; any other may be a region that Azure opened
later, and is a warning.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import NamedTuple

from azure_gpu.catalog import sources, spelling, tables
from azure_gpu.catalog.problems import Code, Problem, Severity
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


def check(region: str, path: str) -> list[Problem]:
    """Checks a region to deploy to: an unknown one is an error if its name is a misspelling or not a valid region name, else a
    warning."""
    problems = check_known(region, path)
    if problems and _may_be_new(normalise(region)):
        fix = "check the spelling with `az account list-locations --output table`"
        return [each._replace(fix=fix, code=Code.UNKNOWN, severity=Severity.WARNING) for each in problems]
    return problems


def check_known(region: str, path: str) -> list[Problem]:
    """Checks a region to report on: an unknown one is an error."""
    name = normalise(region)
    if name in known():
        return []
    names = sorted(known())
    close = [each for each in names if spelling.is_misspelling(name, each)] or spelling.nearest(name, names, 1)
    return [
        Problem(
            path=path,
            message="unknown region of Azure's public cloud",
            value=region,
            allowed="one of the known regions, such as eastus, westeurope or swedencentral",
            fix=f"write {close[0]!r}" if close else "list regions with `az account list-locations --output table`",
            source=SOURCE,
        )
    ]


_NAME = r"([a-z]{5,})[1-9]?"


def _may_be_new(name: str) -> bool:
    """Whether the name has the form of a region's name and isn't a misspelling of a known one. Another number, as in eastus3 and
    eastus2, isn't a misspelling, and neither is austriaeast of australiaeast."""
    form = re.fullmatch(_NAME, name)
    if form is None:
        return False
    words = {each.rstrip("123456789") for each in known()}
    return form[1] in words or not any(spelling.is_misspelling(form[1], word) for word in words)
