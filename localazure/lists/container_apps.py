"""Microsoft.App in a region: the types of workload profiles that environments may have.

Source: azure-cli 2.91, `az containerapp env workload-profile list-supported`, and the SDK's operation
AvailableWorkloadProfiles_Get.
"""

from typing import Any

from azure_gpu.catalog.services.container_apps import PROFILES
from localazure.lists.query import ListQuery


def profiles(_: ListQuery) -> list[dict[str, Any]]:
    """The consumption profile, and those with GPUs, in every region: which region has which changes, and a list that lacks one
    proves nothing."""
    return [{"name": "Consumption", "properties": {"applicability": "Custom", "category": "Consumption"}}] + [
        {
            "name": one.type,
            "properties": {"applicability": "Custom", "category": one.type, "cores": one.vcpus, "memoryGiB": one.memory_gib},
        }
        for one in PROFILES.values()
    ]
