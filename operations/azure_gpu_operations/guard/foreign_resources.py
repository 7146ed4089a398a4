"""Finds resources in a stack's resource group that the stack didn't create and that would be deleted with the group; and deletes
those of them that Azure made beside the stack's own where the group isn't the stack's, and stays."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from azure_gpu.catalog import made_by_azure
from azure_gpu.catalog.made_by_azure import Goes, Made
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId

if TYPE_CHECKING:  # it loads Azure's clients, and what only reads a state needs none
    from azure_gpu_operations.azure import Arm

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
    beside = list(_made_by_azure(deployment))
    for each in arm.values(f"{group}/resources", _API_VERSION):
        type_, name = str(each["type"]), str(each["name"])
        if str(each["id"]).lower() not in own and not any(made.is_it(type_, name, of.name) for made, of in beside):
            yield f"{type_.rsplit('/', 1)[-1]} {name}"


def _made_by_azure(deployment: Mapping[str, Any]) -> Iterator[tuple[Made, ArmId]]:
    """What Azure makes by itself beside what the stack has created, with the resource that it is made beside."""
    for each in created(deployment):
        azure_type, id_ = azure_types.BY_TOKEN.get(each["type"]), arm_ids.parse(str(each["id"]))
        if azure_type is not None and id_ is not None:
            yield from ((made, id_) for made in made_by_azure.beside(azure_type.arm_type))


def left_beside(deployment: Mapping[str, Any]) -> list[tuple[Made, ArmId]]:
    """What Azure leaves of what it has made, in resource groups that aren't the stack's."""
    own = {str(each["id"]).lower() for each in created(deployment)}
    return [(made, of) for made, of in _made_by_azure(deployment) if made.is_left and of.scope.lower() not in own]


def delete_beside(arm: "Arm", deployment: Mapping[str, Any]) -> list[str]:
    """After a stack is gone: deletes what Azure has left of what it made beside the stack's resources in groups that stay, and
    returns the names. What is shared by all resources of a type in a group stays while there is another."""
    left = left_beside(deployment)
    deleted: list[str] = []
    for group in dict.fromkeys(of.scope for _, of in left):
        listed = list(arm.values(f"{group}/resources", _API_VERSION))
        types = {str(each["type"]).lower() for each in listed}
        gone = [(made, of) for made, of in left if of.scope == group]
        gone = [(made, of) for made, of in gone if made.goes is Goes.NEVER or made.beside.lower() not in types]
        for each in listed:
            name = str(each["name"])
            if found := next((made for made, of in gone if made.is_it(str(each["type"]), name, of.name)), None):
                arm.delete(str(each["id"]), found.api_version)
                deleted.append(name)
    return deleted
