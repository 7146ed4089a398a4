"""The GPU workload profiles of Azure Container Apps: their resources, regions and dates.

The rules are in `container_apps_requests`.
"""

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from typing import NamedTuple

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.sources import Dated, Source

NAME_MOST = 15  # characters in the name of a workload profile
NAME_SOURCE = Source(
    "Azure/azure-cli issue 31239: WorkloadProfileInvalidNameTooLong, fewer than 16 characters", Dated.OBSERVED, date(2026, 11, 20)
)

SERVERLESS_PAGE = Source(
    "MicrosoftDocs/azure-docs, articles/container-apps/gpu-serverless-overview.md", Dated.OBSERVED, date(2024, 11, 6)
)
_TYPES = Source("MicrosoftDocs/azure-docs, articles/container-apps/gpu-types.md", Dated.OBSERVED, date(2025, 6, 2))
PROFILES_PAGE = Source(
    "MicrosoftDocs/azure-docs, articles/container-apps/workload-profiles-overview.md", Dated.OBSERVED, date(2025, 11, 4)
)
REGIONS_PAGE = Source(
    "Microsoft Learn, container-apps/gpu-serverless-overview, table of regions", Dated.OBSERVED, date(2026, 3, 1)
)
MINIMUM_SOURCE = Source(
    "hashicorp/terraform-provider-azurerm issue 31763: WorkloadProfilePropertyNotSupported", Dated.OBSERVED, date(2026, 3, 12)
)
QUOTAS_PAGE = Source("Microsoft Learn, container-apps/quotas", Dated.OBSERVED, date(2026, 9, 23))
# Of the GPUs that run at once, by profile type; each belongs to one environment. The names are those of MicrosoftDocs/azure-docs,
# articles/container-apps/quota-requests.md, 2025-04-29, written as `az containerapp env list-usages` writes names.
QUOTAS: Mapping[str, str] = {
    "Consumption-GPU-NC8as-T4": "ManagedEnvironmentConsumptionT4Gpus",
    "Consumption-GPU-NC24-A100": "ManagedEnvironmentConsumptionNCA100Gpus",
}


class Kind(StrEnum):
    """How a profile is billed, and by whom its machines are kept."""

    SERVERLESS = "serverless"  # per second and replica, down to none
    DEDICATED = "dedicated"  # per node, as long as the node is there


class Profile(NamedTuple):
    """One type of workload profile with GPUs.

    `vcpus`, `memory_gib` and `gpu_count` are those of a replica, or of a node where the profile is dedicated.
    """

    type: str  # as `workloadProfileType` has it
    kind: Kind
    gpu: str
    gpu_memory_gib: int  # of one GPU
    gpu_count: int
    vcpus: int
    memory_gib: int
    lifecycle: Lifecycle
    regions: Mapping[str, Source]  # by region, the earliest source that has it
    source: Source


# Both serverless profiles were in preview in two regions; the page of 2025-06-02 speaks of them without that word.
_SERVERLESS = Lifecycle(seen=SERVERLESS_PAGE, preview=True, general=_TYPES)
_DEDICATED = Lifecycle(seen=PROFILES_PAGE)
_FIRST_REGIONS = {"westus3": SERVERLESS_PAGE, "australiaeast": SERVERLESS_PAGE}
_A100_REGIONS = {
    **dict.fromkeys(("brazilsouth", "canadacentral", "eastus", "italynorth", "swedencentral", "westus"), REGIONS_PAGE),
    **_FIRST_REGIONS,
}
_T4_REGIONS = {
    **dict.fromkeys(
        (
            "centralindia",
            "francecentral",
            "japaneast",
            "northcentralus",
            "southcentralus",
            "southeastasia",
            "southindia",
            "westeurope",
            "westus2",
        ),
        REGIONS_PAGE,
    ),
    **_A100_REGIONS,
}
_DEDICATED_REGIONS = {"westus3": PROFILES_PAGE, "northeurope": PROFILES_PAGE}


def _dedicated(gpu_count: int) -> Profile:
    """The dedicated profiles grow with the number of GPUs: one A100 with 24 vCPU and 220 GiB, two, four."""
    return Profile(
        type=f"NC{24 * gpu_count}-A100",
        kind=Kind.DEDICATED,
        gpu="A100",
        gpu_memory_gib=80,
        gpu_count=gpu_count,
        vcpus=24 * gpu_count,
        memory_gib=220 * gpu_count,
        lifecycle=_DEDICATED,
        regions=_DEDICATED_REGIONS,
        source=PROFILES_PAGE,
    )


_T4 = Profile(
    type="Consumption-GPU-NC8as-T4",
    kind=Kind.SERVERLESS,
    gpu="T4",
    gpu_memory_gib=16,
    gpu_count=1,
    vcpus=8,
    memory_gib=56,
    lifecycle=_SERVERLESS,
    regions=_T4_REGIONS,
    source=PROFILES_PAGE,
)
_A100 = Profile(
    type="Consumption-GPU-NC24-A100",
    kind=Kind.SERVERLESS,
    gpu="A100",
    gpu_memory_gib=80,
    gpu_count=1,
    vcpus=24,
    memory_gib=220,
    lifecycle=_SERVERLESS,
    regions=_A100_REGIONS,
    source=PROFILES_PAGE,
)
PROFILES: dict[str, Profile] = {one.type: one for one in (_T4, _A100, _dedicated(1), _dedicated(2), _dedicated(4))}


def serverless_on(day: date) -> tuple[str, ...]:
    """The serverless profile types known on that day, cheapest first; none before the first source that has them."""
    return tuple(one.type for one in (_T4, _A100) if day >= one.lifecycle.seen.day)


def serverless_of(gpu: str) -> str:
    """The serverless profile type with this GPU."""
    return next(one.type for one in PROFILES.values() if one.gpu == gpu and one.kind is Kind.SERVERLESS)
