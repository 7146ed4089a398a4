"""The regions of Azure's public cloud, by the name that ARM answers with.

They are a list of their own, `regions.csv`, read when it is first asked for: neither sizes nor prices add to it. A name that is
nearly that of a known region is misspelt, and refused. Any other may be of a region that Azure opened later, and is warned of.
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
    """For a region that something goes to: one problem where it isn't among those known, which is an error where its name is
    nearly that of another, or no name of a region at all."""
    problems = check_known(region, path)
    if problems and _may_be_new(normalise(region)):
        fix = "see that it is spelt as `az account list-locations --output table` has it"
        return [each._replace(fix=fix, code=Code.UNKNOWN, severity=Severity.WARNING) for each in problems]
    return problems


def check_known(region: str, path: str) -> list[Problem]:
    """For a region that something is to be told of: one error where nothing is known of it."""
    name = normalise(region)
    if name in known():
        return []
    names = sorted(known())
    close = [each for each in names if spelling.is_slip(name, each)] or spelling.nearest(name, names, 1)
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


_NAME = r"([a-z]{5,})[1-9]?"


def _may_be_new(name: str) -> bool:
    """Whether it has the form of a region's name and isn't one slip away from a known one. A region that differs from another by
    its number alone, as eastus3 does from eastus2, is no slip, nor is austriaeast one for australiaeast."""
    form = re.fullmatch(_NAME, name)
    if form is None:
        return False
    words = {each.rstrip("123456789") for each in known()}
    return form[1] in words or not any(spelling.is_slip(form[1], word) for word in words)
