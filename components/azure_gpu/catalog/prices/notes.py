"""What to mind about the prices: which are doubtful, which names are no size, what was left out, what services add.

In: the name of a size. Out: the notes about it; and tables of facts for the documentation.
"""

import re
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog.facts import Fact
from azure_gpu.catalog.sizes.lookup import normalise
from azure_gpu.catalog.sources import Dated, Source

_KARPENTER = Source(
    "Azure/karpenter-provider-azure, pkg/providers/pricing/zz_generated.pricing.go", Dated.OBSERVED, date(2026, 6, 18)
)
_SKYPILOT = Source("skypilot-catalog, catalogs/v8/azure/vms.csv", Dated.OBSERVED, date(2024, 8, 27))
_RENAMED = Source("Azure/AgentBaker, gpu_components.go", Dated.OBSERVED, date(2026, 8, 21))
_COMPARED = Source("both price lists, compared", Dated.OBSERVED, date(2026, 11, 20))

_PREVIEW_NAME = "a preview name of the RTX PRO 6000 sizes; it no longer deploys, the general sizes have other names"
_METER_NAME = "the name of a price meter; no list of sizes has it"


def _not_sizes(reason: str, source: Source, *names: str) -> dict[str, Fact]:
    return {f"Standard_{name}": Fact(f"Standard_{name}", reason, source) for name in names}


# Names that have a price and are not in the list of sizes.
NOT_SIZES: dict[str, Fact] = {
    **_not_sizes(
        _PREVIEW_NAME,
        _RENAMED,
        "NC132ds_xl_RTXPRO6000BSE_v6", "NC132lds_xl_RTXPRO6000BSE_v6", "NC16lds_xl_RTXPRO6000BSE_v6",
        "NC264ds_xl_RTXPRO6000BSE_v6", "NC264lds_xl_RTXPRO6000BSE_v6", "NC324ds_xl_RTXPRO6000BSE_v6",
        "NC324lds_xl_RTXPRO6000BSE_v6", "NC32ds_xl_RTXPRO6000BSE_v6", "NC32lds_xl_RTXPRO6000BSE_v6",
        "NC64ds_xl_RTXPRO6000BSE_v6", "NC64lds_xl_RTXPRO6000BSE_v6", "NC8lds_xl_RTXPRO6000BSE_v6",
    ),
    **_not_sizes(
        _METER_NAME,
        _KARPENTER,
        "ND128isrf_NDR_GB200_v6", "ND40s_v2", "ND96asr_A100_v4", "ND96is_noIB_H100_v5", "NG32adms_V620", "NM16ads_MA35D",
    ),
}  # fmt: skip


class Doubt(NamedTuple):
    """Why the prices of some sizes may not be what Azure asks."""

    sizes: str  # a pattern for their whole names, letter case aside
    fact: Fact


def _doubt(sizes: str, name: str, value: str, source: Source) -> Doubt:
    return Doubt(f"standard_(?:{sizes})", Fact(name, value, source))


DOUBTS: tuple[Doubt, ...] = (
    _doubt(
        r".*_promo",
        "promotional sizes",
        "retired; the price lists differ by a factor of 2.2 to 3",
        _COMPARED,
    ),
    _doubt(
        r"nc(?:144|288)l?ds_xl_rtxpro6000bse_v6",
        "RTX PRO 6000, ds and lds",
        "NC144ds and NC288ds cost the same as the lds size, unlike NC36, NC72 and NC132; check the price before relying on it",
        _KARPENTER,
    ),
    _doubt(
        r"nv(?:36ads|36adms|72ads)_a10_v5|nc\d+ads_a10_v4|ng\d+ads_v620_v1|ncc40ads_h100_v5",
        "Spot at a quarter",
        "a Spot price of exactly a quarter of the price on demand looks like a default of the launch",
        _SKYPILOT,
    ),
)

LEFT_OUT: tuple[Fact, ...] = (
    Fact(
        "NCC40ads_H100_v5, the newer price",
        "the price of the Windows machine: its product name ends in ' Win', which that list doesn't drop",
        _KARPENTER,
    ),
    Fact("Spot of NC40ads, NC80adis and ND96isr H100", "added by hand, equal to the price on demand", _SKYPILOT),
    Fact("NC40ads and NC80adis H100 in Central US, the older price", "contradicts the newer list", _SKYPILOT),
    Fact("nine rows without a price", "NCads_A10_v4, ND40s_v3, NG32adms_V620_v1 and NVas_v4 in some regions", _SKYPILOT),
    Fact(
        "two Spot prices of third-party tests",
        "NC40ads_H100_v5 in East US 2.19 and NCC40ads_H100_v5 in East US 2 1.419034: not verified",
        Source("unit tests of public repositories", Dated.OBSERVED, date(2026, 11, 20)),
    ),
    Fact(
        "no price found",
        "ND GB300 v6, NG32adms_V620_v1, ND40s_v3, ND96is_H200_v5 and other restricted names, NCv2, ND, the NV hs and ms sizes",
        _COMPARED,
    ),
    Fact(
        "no Spot price found",
        "H100, H200, MI300X, GB200, RTX PRO 6000, V710 and the small A10 v5 sizes; every region outside the eight older ones",
        _COMPARED,
    ),
)

_ML_COST = Source("Microsoft Learn, articles/machine-learning/concept-plan-manage-cost.md", Dated.OBSERVED, date(2021, 10, 21))
# What a service asks for on top of the machines that it runs.
SURCHARGES: tuple[Fact, ...] = (
    Fact(
        "Batch",
        "none; machines, their disks, load balancer, storage and traffic are billed",
        Source("Microsoft Learn, articles/batch/plan-to-manage-costs.md", Dated.OBSERVED, date(2024, 1, 9)),
    ),
    Fact("Azure Machine Learning compute", "none found on the price of the machine", _ML_COST),
    Fact(
        "Azure Machine Learning compute, extras",
        "registry, storage, vault and Application Insights; a load balancer of about 0.33 USD a day per compute instance "
        "and per 50 nodes of a cluster",
        _ML_COST,
    ),
    Fact(
        "Azure Machine Learning compute, as another tool prices it",
        "the plain price of the Linux machine",
        Source(
            "infracost/infracost, internal/resources/azure/machine_learning_compute_cluster.go", Dated.OBSERVED, date(2026, 8, 21)
        ),
    ),
    Fact(
        "Azure Machine Learning managed online endpoint",
        "not found; assumed to be the price of the machine",
        Source("Microsoft Learn, the cost pages of Azure Machine Learning", Dated.OBSERVED, date(2026, 11, 20)),
    ),
)


def about(size_name: str) -> tuple[Fact, ...]:
    """What to mind about the prices of a size; its name in any letter case, with or without `Standard_`."""
    name = normalise(size_name)
    no_size = tuple(fact for known, fact in NOT_SIZES.items() if known.lower() == name.lower())
    return no_size + tuple(doubt.fact for doubt in DOUBTS if re.fullmatch(doubt.sizes, name, re.IGNORECASE))
