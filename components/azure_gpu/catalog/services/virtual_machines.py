"""What holds for plain virtual machines beyond what holds for every service.

In: a size, its use and the day. Out: problems. `FACTS` has what no rule decides by.
"""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog.facts import Fact
from azure_gpu.catalog.lifecycle import WARNING_DAYS, Status
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.size_use import SizeUse
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import FACTS_DAY, KARPENTER_SKUS, RETIREMENT_GUIDES, RETIREMENTS, SKU_LIST, Dated, Source, observed

FACTS: tuple[Fact, ...] = (
    Fact(
        "API version",
        "2024-11-01 of compute, the provider's default",
        Source("pulumi-azure-native 3.29.0", Dated.OBSERVED, FACTS_DAY),
    ),
    Fact(
        "what becomes of machines at the end of NVv3 and NVv4",
        "Azure deallocates those that still run",
        observed(f"{RETIREMENT_GUIDES}/nvv3-series-retirement.md and nvv4-retirement.md", 2026, 9, 25),
    ),
    Fact("series with no announced end", "NDv2, and every newer one but NP, HBv2 and HC", RETIREMENTS),
    Fact(
        "GPUs of a size in Azure's SKU API",
        "a share of an A10 as 1, none on NVads V710, NGads V620 and ND96is_MI300X_v5, FPGAs of NP as GPUs; nothing here counts "
        "by it alone",
        SKU_LIST,
    ),
    Fact(
        "spelling of quota families",
        "some have spaces, and letter case varies; that Azure compares them without regard to case is inferred",
        KARPENTER_SKUS,
    ),
)


def size_problems(size: Size, use: SizeUse, as_of: date) -> Iterator[Problem]:
    """A series whose end is announced is closed to subscriptions that have none of it yet, long before its last day.

    Within the last days before the end, `catalog.lifecycle` warns of the end itself, and nothing is said here.
    """
    end = size.lifecycle.end_in(use.region)
    if end is None or as_of < RETIREMENTS.day or size.lifecycle.status(as_of, use.region) is not Status.RETIRING:
        return
    if (end.day - as_of).days > WARNING_DAYS:
        yield Problem(
            path=use.path,
            message=f"the end of {size.name} on {end.day.isoformat()} is announced, so a new subscription doesn't get it",
            value=use.size,
            fix="choose a size whose end isn't announced, or use a subscription that has this series already",
            source=str(RETIREMENTS),
            code=Code.RETIRING,
            severity=Severity.WARNING,
        )
