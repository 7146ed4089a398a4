"""Finds resources in a stack's resource group that the stack didn't create and that would be deleted with the group."""

from collections.abc import Iterator, Mapping
from typing import Any

from azure_gpu_operations.azure import Arm

_API_VERSION = "2024-11-01"  # of the list of a group's resources


def created(deployment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The resources that the stack created, without components, providers and read-only ones."""
    return [
        each
        for each in deployment.get("resources") or []
        if each.get("custom") and each.get("id") and not each.get("external") and not str(each["type"]).startswith("pulumi:")
    ]


def foreign_resources(arm: Arm, group: str, deployment: Mapping[str, Any]) -> Iterator[str]:
    """ "type name" of each. AzureError if the group can't be listed."""
    own = {str(each["id"]).lower() for each in created(deployment)}
    for each in arm.values(f"{group}/resources", _API_VERSION):
        if str(each["id"]).lower() not in own:
            yield f"{str(each['type']).rsplit('/', 1)[-1]} {each['name']}"
