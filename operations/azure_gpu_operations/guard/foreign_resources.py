"""Finds resources in a stack's resource group that the stack didn't create and that would be deleted with the group; and deletes
those of them that Azure made beside the stack's own where the group isn't the stack's, and stays."""

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
_VERSIONS = ("2021-04-01", "2023-01-01")  # of the two types above


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


def delete_beside(arm: "Arm", deployment: Mapping[str, Any]) -> list[str]:
    """After a stack's components of Application Insights are gone: deletes what Azure has left of them in groups that stay, and
    returns the names. The action group is shared by all components of its group, and stays while there is another."""
    own = {str(each["id"]).lower() for each in created(deployment)}
    deleted: list[str] = []
    for component in created(deployment):
        group, _, rest = str(component["id"]).partition("/providers/")
        if component["type"] != azure_types.INSIGHTS_COMPONENT.token or group.lower() in own:
            continue
        listed = [
            (str(each["id"]), str(each["type"]).lower(), str(each["name"]).lower())
            for each in arm.values(f"{group}/resources", _API_VERSION)
        ]
        of_others = any(type_ == azure_types.INSIGHTS_COMPONENT.arm_type.lower() for _, type_, _ in listed)
        (rule_type, form), (shared_type, shared) = _BESIDE_INSIGHTS
        gone = {(rule_type, form.format(name=rest.rsplit("/", 1)[-1].lower())): _VERSIONS[0]}
        gone |= {} if of_others else {(shared_type, shared): _VERSIONS[1]}
        for resource_id, type_, name in listed:
            if version := gone.get((type_, name)):
                arm.delete(resource_id, version)
                deleted.append(resource_id.rsplit("/", 1)[-1])
    return deleted
