"""Rules for the system pool of an AKS cluster, which runs AKS's own pods.

The catalog has no sizes without a GPU or InfiniBand; here, a size's vCPUs are read from its name, whose form Azure documents for
series since version 3.
"""

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from functools import cache

from azure_gpu.catalog import regions, tables
from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.sizes.lookup import normalise
from azure_gpu.catalog.sources import Dated, Source
from azure_gpu.catalog.tables import Table

PAGE = Source("Microsoft Learn, articles/aks/use-system-pools.md", Dated.OBSERVED, date(2026, 4, 30))
SIZES_PAGE = Source("Microsoft Learn, articles/aks/quotas-skus-regions.md", Dated.OBSERVED, date(2024, 1, 12))

# `catalog.prices` has only machines with GPUs or InfiniBand.
PRICES = Source(
    "Azure/karpenter-provider-azure, pkg/providers/pricing/zz_generated.pricing.go, from Azure's Retail Prices API",
    Dated.OBSERVED,
    date(2026, 6, 18),
)
TABLE = Table(
    tables.beside(__file__, "system_pool_prices.csv"),
    {"size": "of a machine without a GPU", "region": "as ARM spells it", "usd_hour": "on demand, without a licence"},
)

DEDICATED_TAINT = "CriticalAddonsOnly=true:NoSchedule"
REQUIRED_VCPUS = 4
MOST_NODES = 1000  # of any pool
FEWEST_VCPUS = 2  # fewer may not be used with AKS at all
REFUSED = (
    "Standard_A0",
    "Standard_A1",
    "Standard_A1_v2",
    "Standard_F1",
    "Standard_F1s",
)  # with one vCPU, but names of another form
_NAME = r"Standard_(?P<family>[A-Z]+)(?P<vcpus>[0-9]+)(?:-(?P<active>[0-9]+))?[a-z]*(?:_[A-Za-z0-9]+)*_v(?P<version>\d+)"


def is_size_name(size_name: str) -> bool:
    """Whether the text has the form of a size's name."""
    return re.fullmatch(r"(?:Standard|Basic)_[A-Za-z0-9_-]{1,60}", normalise(size_name)) is not None


def vcpus(size_name: str) -> int | None:
    """The number of vCPUs in the name of a size; None if it has none, as before version 3 of a series."""
    match = re.fullmatch(_NAME, normalise(size_name))
    if match is None or int(match["version"]) < 3:
        return None
    return int(match["active"] or match["vcpus"])


def family(size_name: str) -> str:
    """The quota that its vCPUs count against, such as standardDSv5Family; empty if the name doesn't show it."""
    match = re.fullmatch(r"Standard_([A-Z]+)[0-9]+([a-z]*)_v(\d+)", normalise(size_name))
    if match is None or int(match[3]) < 3:
        return ""
    return f"standard{match[1]}{match[2].upper()}v{match[3]}Family"


def price(size_name: str, region: str) -> Price | None:
    """The hourly price of the machine in the region; None if unknown."""
    usd = _usd_hour().get((normalise(size_name).lower(), regions.normalise(region)))
    return Price(Decimal(usd), PRICES.day, str(PRICES)) if usd is not None else None


@cache
def _usd_hour() -> dict[tuple[str, str], str]:
    """The prices by size, in lower case, and region."""
    return {(row.filled("size").lower(), row.filled("region")): row.filled("usd_hour") for row in tables.read(TABLE)}


def check(size_name: str, path: str) -> Iterator[Problem]:
    """The problems of these machines for the system pool, by their name."""
    name = normalise(size_name)
    count = vcpus(name)
    if not is_size_name(name):
        yield Problem(
            path=path,
            message="not a valid name of a virtual machine size",
            value=size_name,
            allowed="a size without a GPU, such as Standard_D4s_v5",
            fix="list sizes with `az vm list-skus --location <region> --resource-type virtualMachines`",
        )
    elif name in REFUSED or (count is not None and count < FEWEST_VCPUS):
        yield _small(name, path, "machines with fewer than 2 vCPUs can't be used with AKS", SIZES_PAGE, Severity.ERROR)
    elif name.startswith("Standard_B"):
        message = "AKS doesn't support burstable machines for a system pool: they run out of CPU credits"
        yield _small(name, path, message, PAGE, Severity.WARNING)
    elif count is not None and count < REQUIRED_VCPUS:
        yield _small(name, path, f"AKS requires 4 vCPUs in a system pool, and this size has {count}", PAGE, Severity.WARNING)


def _small(name: str, path: str, message: str, source: Source, severity: Severity) -> Problem:
    return Problem(
        path=path,
        message=message,
        value=name,
        allowed="4 vCPUs and 4 GB at least, such as Standard_D4s_v5",
        fix="write Standard_D4s_v5, or leave it out",
        source=str(source),
        code=Code.IMPOSSIBLE,
        severity=severity,
    )
