"""Microsoft.Compute: the sizes that are sold in a region and its zones, and the subscription's vCPU quotas.

Every region has three zones; sizes that no public page offers are restricted for the subscription.
"""

from typing import Any

from azure_gpu.catalog import regions
from azure_gpu.catalog.sizes.model import Size
from localazure.lists.asked import Asked, gpus_as_told

ZONES = ("1", "2", "3")
FAMILY_VCPUS = 1000
TOTAL_VCPUS = 10_000
SPOT_VCPUS = 1000
NO_SUBSCRIPTION = "NotAvailableForSubscription"
_TOTALS = (("cores", "Total Regional vCPUs", TOTAL_VCPUS), ("lowPriorityCores", "Total Regional Low-priority vCPUs", SPOT_VCPUS))


def skus(asked: Asked) -> list[dict[str, Any]]:
    """One row per size and region, as the service has it."""
    wanted = sorted(regions.known().keys() & {asked.region} if asked.region else regions.known())
    return [_sku(size, region, asked) for region in wanted for size in asked.sizes(region)]


def usages(asked: Asked) -> list[dict[str, Any]]:
    """The totals, and one row per family."""
    rows = [*_TOTALS, *((family, f"{family} vCPUs", FAMILY_VCPUS) for family in asked.families())]
    answer: list[dict[str, Any]] = []
    for name, shown, default in rows:
        limit, used = asked.deviations.quota("compute", asked.region, name, default)
        answer.append({"limit": limit, "unit": "Count", "currentValue": used, "name": {"value": name, "localizedValue": shown}})
    return answer


def _sku(size: Size, region: str, asked: Asked) -> dict[str, Any]:
    tier, _, rest = size.name.partition("_")
    return {
        "resourceType": "virtualMachines",
        "name": size.name,
        "tier": tier,
        "size": rest,
        "family": size.series.quota_family,
        "locations": [region],
        "locationInfo": [{"location": region, "zones": list(ZONES), "zoneDetails": []}],
        "capabilities": [{"name": name, "value": value} for name, value in _capabilities(size).items()],
        "restrictions": _restrictions(size, region, asked),
    }


def _capabilities(size: Size) -> dict[str, str]:
    """Those that clients of sizes with GPUs read. What isn't known is left out."""
    generations = {"Gen1": "V1", "Gen2": "V2"}
    gpus = gpus_as_told(size.gpu_count)
    numbers = {
        "vCPUs": size.quota_vcpus,
        "vCPUsAvailable": size.vcpus,
        "MemoryGB": size.memory_gib,
        "GPUs": gpus or None,
    }
    known = {name: str(number) for name, number in numbers.items() if number is not None}
    known["RdmaEnabled"] = str(size.rdma)
    known["LowPriorityCapable"] = "True"
    known["CpuArchitectureType"] = size.series.architecture
    if size.series.generations:
        known["HyperVGenerations"] = ",".join(generations[generation] for generation in size.series.generations)
    return known


def _restrictions(size: Size, region: str, asked: Asked) -> list[dict[str, Any]]:
    given = asked.deviations.restrictions(size.name, region)
    if size.series.restricted:
        given = [(NO_SUBSCRIPTION, ""), *given]
    return [
        {
            "type": "Zone" if zone else "Location",
            "values": [region],
            "restrictionInfo": {"locations": [region], "zones": [zone]} if zone else {"locations": [region]},
            "reasonCode": reason,
        }
        for reason, zone in given
    ]
