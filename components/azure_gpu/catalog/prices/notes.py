"""Notes about a size's price: that it may be wrong, or that no size of this name exists."""

import re
from typing import NamedTuple

from azure_gpu.catalog import facts
from azure_gpu.catalog.facts import Fact
from azure_gpu.catalog.sizes.lookup import normalise
from azure_gpu.catalog.sources import Source, observed

_KARPENTER = observed("Azure/karpenter-provider-azure, pkg/providers/pricing/zz_generated.pricing.go", 2026, 6, 18)
_SKYPILOT = observed("skypilot-catalog, catalogs/v8/azure/vms.csv", 2024, 8, 27)
_COMPARED = observed("both price lists, compared", 2026, 11, 20)


class Doubt(NamedTuple):
    """Why the prices of some sizes may be wrong."""

    sizes: str  # a pattern for their whole names; letter case doesn't matter
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
        "a Spot price of exactly a quarter of the on-demand price looks like a default set at the size's launch",
        _SKYPILOT,
    ),
)


def about(size_name: str) -> tuple[Fact, ...]:
    """Notes about the prices of a size, by its name in any letter case, with or without `Standard_`."""
    name = normalise(size_name)
    no_size = tuple(fact for fact in facts.about(facts.NOT_SIZES) if fact.name.lower() == name.lower())
    return no_size + tuple(doubt.fact for doubt in DOUBTS if re.fullmatch(doubt.sizes, name, re.IGNORECASE))
