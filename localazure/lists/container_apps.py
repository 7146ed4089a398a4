"""Microsoft.App in a region: the types of workload profiles that environments may have.

Source: azure-cli 2.91, `az containerapp env workload-profile list-supported`, and the SDK's operation
AvailableWorkloadProfiles_Get.
"""

from typing import Any

from azure_gpu.catalog import regions
from azure_gpu.catalog.services.container_apps import PROFILES
from localazure.lists.query import ListQuery


def profiles(query: ListQuery) -> list[dict[str, Any]]:
    """The consumption profile, and those with GPUs; a region that the catalog hasn't heard of has all."""
    anywhere = query.region not in regions.known()
    there = [one for one in PROFILES.values() if anywhere or query.region in one.regions]
    return [{"name": "Consumption", "properties": {"applicability": "Custom", "category": "Consumption"}}] + [
        {
            "name": one.type,
            "properties": {"applicability": "Custom", "category": one.type, "cores": one.vcpus, "memoryGiB": one.memory_gib},
        }
        for one in there
    ]
