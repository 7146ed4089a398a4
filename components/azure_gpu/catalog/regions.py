"""The regions of Azure's public cloud, by the name that ARM answers with.

In: a region as a user writes it, `West Europe` or `westeurope`. Out: the normalised name, and problems for one that isn't known.
A region that Azure opens later is refused until `KNOWN` has it: misspelt regions cost more people more time than new ones.
"""

from functools import lru_cache

from azure_gpu.catalog import spelling
from azure_gpu.catalog.problems import Problem

SOURCE = (
    "regions of the GPU price list made from Azure's Retail Prices API: Azure/karpenter-provider-azure, "
    "pkg/providers/pricing/zz_generated.pricing.go at 2b431da1, generated 2026-06-18"
)

KNOWN: frozenset[str] = frozenset(
    {
        "australiacentral",
        "australiacentral2",
        "australiaeast",
        "australiasoutheast",
        "brazilsouth",
        "canadacentral",
        "canadaeast",
        "centralindia",
        "centralus",
        "chilecentral",
        "eastasia",
        "eastus",
        "eastus2",
        "francecentral",
        "francesouth",
        "germanynorth",
        "germanywestcentral",
        "indonesiacentral",
        "israelcentral",
        "italynorth",
        "japaneast",
        "japanwest",
        "jioindiacentral",
        "jioindiawest",
        "koreacentral",
        "koreasouth",
        "malaysiawest",
        "mexicocentral",
        "northcentralus",
        "northeurope",
        "norwayeast",
        "norwaywest",
        "polandcentral",
        "qatarcentral",
        "southafricanorth",
        "southafricawest",
        "southcentralus",
        "southeastasia",
        "southindia",
        "spaincentral",
        "swedencentral",
        "switzerlandnorth",
        "switzerlandwest",
        "uaecentral",
        "uaenorth",
        "uksouth",
        "ukwest",
        "westcentralus",
        "westeurope",
        "westus",
        "westus2",
        "westus3",
    }
)


@lru_cache(maxsize=1024)  # every rule asks about the same few regions
def normalise(region: str) -> str:
    """ARM's spelling: `West Europe` becomes `westeurope`. Says nothing about whether the region exists."""
    return region.replace(" ", "").lower()


def check(region: str, path: str) -> list[Problem]:
    """One problem where the region isn't among those known, else none."""
    name = normalise(region)
    if name in KNOWN:
        return []
    close = spelling.nearest(name, sorted(KNOWN), 1)
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
