"""Microsoft.MachineLearningServices in a region: its own vCPU quotas, and the sizes that its compute may have.

Form and names of the rows: Azure/azure-rest-api-specs, Microsoft.MachineLearningServices 2020-08-01, examples ListUsages,
ListQuotas and VirtualMachineSizeGet. A family at low priority has no limit of its own (-1): the total counts.
"""

from collections.abc import Iterator
from typing import Any

from azure_gpu.catalog.providers import MACHINE_LEARNING
from azure_gpu.catalog.size_use import Service
from localazure.lists.compute import FAMILY_VCPUS, SPOT_VCPUS, TOTAL_VCPUS
from localazure.lists.query import ListQuery, gpus_as_told

# What is below the subscription ("" for a total), the row's type, its name and title, limit and use.
_Row = tuple[str, str, str, str, int, int]


def usages(query: ListQuery) -> list[dict[str, Any]]:
    return [_document(row, query, "usages") | {"currentValue": row[-1]} for row in _rows(query)]


def quotas(query: ListQuery) -> list[dict[str, Any]]:
    return [_document(row, query, "quotas") for row in _rows(query)]


def sizes(query: ListQuery) -> dict[str, Any]:
    """The sizes that clusters and instances may have."""
    rows: list[dict[str, Any]] = [
        {
            "name": size.name,
            "family": _spelt(size.series.quota_family),
            "vCPUs": size.vcpus,
            "gpus": gpus_as_told(size.gpu_count),
            "memoryGB": size.memory_gib,
            "lowPriorityCapable": True,
            "premiumIO": True,
            "supportedComputeTypes": ["AmlCompute", "ComputeInstance"],
        }
        for size in query.sizes_of(Service.ML_COMPUTE)
    ]
    return {"value": rows}


def _rows(query: ListQuery) -> Iterator[_Row]:
    quota = query.deviations.quota
    total, used = quota("ml", query.region, "cores", TOTAL_VCPUS)
    yield ("", "totalDedicatedCores", "TotalDedicatedCores", "Total Cluster Dedicated Regional vCPUs", total, used)
    spot, spot_used = quota("ml", query.region, "lowPriorityCores", SPOT_VCPUS)
    yield ("", "totalLowPriorityCores", "TotalLowPriorityCores", "Total Cluster LowPriority Regional vCPUs", spot, spot_used)
    for family in query.families():
        name = _spelt(family)
        limit, used = quota("ml", query.region, family, FAMILY_VCPUS)
        yield (name, "vmFamily/dedicatedCores", name, f"{family} Cluster Dedicated vCPUs", limit, used)
        yield (name, "vmFamily/lowPriorityCores", name, f"{family} Cluster LowPriority vCPUs", -1, 0)


def _document(row: _Row, query: ListQuery, what: str) -> dict[str, Any]:
    path, kind, name, shown, limit, _ = row
    scope = f"providers/{MACHINE_LEARNING}/locations/{query.region}"
    return {
        "id": query.resource(f"{scope}/{what}/{path}" if path else scope),
        "type": f"{MACHINE_LEARNING}/{kind}/{what}",
        "limit": limit,
        "unit": "Count",
        "name": {"value": name, "localizedValue": shown},
    }


def _spelt(family: str) -> str:
    """Machine Learning spells families without spaces."""
    return family.replace(" ", "")
