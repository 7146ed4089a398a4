"""Finds resources in a stack's resource group that the stack didn't create and that would be deleted with the group."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from azure_gpu.formats import azure_types

if TYPE_CHECKING:  # it loads Azure's clients, and what only reads a state needs none
    from azure_gpu_operations.azure import Arm

# What Azure makes minutes after an Application Insights component, and leaves in its group when that is deleted: type and name.
# Seen by others: hashicorp/terraform-provider-azurerm#10563 (2021-02-12), #18026, pull requests 18357 and 22163 (the ids).
_BESIDE_INSIGHTS = (
    ("microsoft.alertsmanagement/smartdetectoralertrules", "failure anomalies - {name}"),
    ("microsoft.insights/actiongroups", "application insights smart detection"),
)
_API_VERSION = "2024-11-01"  # of the list of a group's resources


def created(deployment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The resources that the stack created, without components, providers and read-only ones."""
    return [
        each
        for each in deployment.get("resources") or []
        if each.get("custom") and each.get("id") and not each.get("external") and not str(each["type"]).startswith("pulumi:")
    ]


def foreign_resources(arm: "Arm", group: str, deployment: Mapping[str, Any]) -> Iterator[str]:
    """ "type name" of each. AzureError if the group can't be listed."""
    own = {str(each["id"]).lower() for each in created(deployment)}
    beside = set(_made_by_azure(deployment))
    for each in arm.values(f"{group}/resources", _API_VERSION):
        if str(each["id"]).lower() not in own and (str(each["type"]).lower(), str(each["name"]).lower()) not in beside:
            yield f"{str(each['type']).rsplit('/', 1)[-1]} {each['name']}"


def _made_by_azure(deployment: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Type and name, in small letters, of what Azure makes by itself beside what the stack has created."""
    for each in created(deployment):
        if each["type"] == azure_types.INSIGHTS_COMPONENT.token:
            name = str(each["id"]).rsplit("/", 1)[-1].lower()
            yield from ((type_, form.format(name=name)) for type_, form in _BESIDE_INSIGHTS)
