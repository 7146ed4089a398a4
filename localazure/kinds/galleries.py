"""Azure Compute Galleries: what images and their versions lie in.

Created at once; the real service takes some seconds. Sharing with others and soft deletion aren't imitated.
"""

from azure_gpu.formats import azure_types
from localazure.arm import removal
from localazure.arm.errors import ArmError
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.kinds import attached_identities
from localazure.services import Services

API_VERSIONS = frozenset({"2026-03-03"})  # azure-mgmt-compute 39


class Galleries(Kind):
    azure_type = azure_types.GALLERY
    extra_api_versions = API_VERSIONS

    def invalid_name(self, name: str, allowed: str) -> ArmError:
        return invalid_parameter("galleryName", name, allowed)

    def check_removal(self, resource: Resource, services: Services) -> None:
        removal.refuse_with_children(resource, azure_types.GALLERY_IMAGE.arm_type, services)

    def check(self, change: Change) -> None:
        change.body.setdefault("properties", {})
        attached_identities.check(change)

    async def provision(self, change: Change) -> Body:
        resource = change.stored
        unique = f"{change.id.subscription}-{change.id.name.upper()}"
        return {**attached_identities.own(resource, change.services), "properties": {"identifier": {"uniqueName": unique}}}

    def view(self, resource: Resource, services: Services) -> Body:
        return attached_identities.shown(super().view(resource, services), services)


def invalid_parameter(target: str, value: object, allowed: str) -> ArmError:
    """Microsoft.Compute's code for a value that it doesn't take."""
    message = f"The value '{value}' of parameter '{target}' is invalid. It takes {allowed}."
    return ArmError(400, "InvalidParameter", message, target=target)
