"""Microsoft.Compute: the sizes that are sold in a region and its zones, and the subscription's vCPU quotas.

Every region has three zones; sizes that no public page offers are restricted for the subscription.
"""

from typing import Any

from azure_gpu.catalog import regions
from azure_gpu.catalog.sizes.model import Size
from localazure.lists.query import ListQuery, gpus_as_told

ZONES = ("1", "2", "3")
FAMILY_VCPUS = 1000
TOTAL_VCPUS = 10_000
SPOT_VCPUS = 1000
NO_SUBSCRIPTION = "NotAvailableForSubscription"
_TOTALS = (("cores", "Total Regional vCPUs", TOTAL_VCPUS), ("lowPriorityCores", "Total Regional Low-priority vCPUs", SPOT_VCPUS))


def skus(query: ListQuery) -> list[dict[str, Any]]:
    """One row per size and region, as the service has it."""
    requested = [query.region] if query.region else sorted(regions.known())
    return [_sku(size, region, query) for region in requested if regions.may_be(region) for size in query.sizes(region)]


def usages(query: ListQuery) -> list[dict[str, Any]]:
    """The totals, and one row per family."""
    rows = [*_TOTALS, *((family, f"{family} vCPUs", FAMILY_VCPUS) for family in query.families())]
    answer: list[dict[str, Any]] = []
    for name, shown, default in rows:
        limit, used = query.deviations.quota("compute", query.region, name, default)
        answer.append({"limit": limit, "unit": "Count", "currentValue": used, "name": {"value": name, "localizedValue": shown}})
    return answer


def _sku(size: Size, region: str, query: ListQuery) -> dict[str, Any]:
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
        "restrictions": _restrictions(size, region, query),
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


def _restrictions(size: Size, region: str, query: ListQuery) -> list[dict[str, Any]]:
    given = query.deviations.restrictions(size.name, region)
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
