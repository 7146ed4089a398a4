"""Resource groups: a name, a region and tags, and the end of everything in them when they are deleted."""

from azure_gpu.formats import azure_types
from localazure.arm.errors import ArmError, conflict
from localazure.arm.kind import Kind
from localazure.arm.store import Resource


class ResourceGroups(Kind):
    """DELETE answers 202; the group is `Deleting` until what lies in it is gone."""

    azure_type = azure_types.RESOURCE_GROUP
    location = "required"
    long_running_delete = True
    deleted_headers = "location"  # Test_ManagedIdentity_UserAssignedIdentity_20230131_CRUD (2023-11), and all others
    absent_status = 404

    @property
    def listed_as_resource(self) -> bool:
        return False

    def busy(self, resource: Resource) -> ArmError:
        return conflict(
            f"The resource group '{resource.id.name}' is in deprovisioning state and cannot perform this operation.",
            "ResourceGroupBeingDeleted",
        )

    def invalid_name(self, name: str, allowed: str) -> ArmError:
        return ArmError(
            400,
            "InvalidResourceGroup",
            f"The provided resource group name '{name}' is not valid. It takes {allowed}.",
            target="resourceGroupName",
        )
