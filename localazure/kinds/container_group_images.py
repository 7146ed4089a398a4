"""Whether a container group may pull its images, and how the service refuses one that it can't reach."""

from azure_gpu.formats import image_reference
from localazure.arm.errors import ArmError, refused
from localazure.arm.store import Body, Resource
from localazure.containers.images import Image
from localazure.kinds import images, public_images
from localazure.kinds.images import Credential, UnavailableError
from localazure.kinds.registry_runs import login_server
from localazure.services import Services
from localazure.weather import reach, registry_limits

_LISTS = ("initContainers", "containers")


def check_access(group: str, body: Body, services: Services) -> None:
    """ArmError 400 for the first image that the group can't have."""
    properties = body["properties"]

    def may(registry: Resource) -> str:
        server = login_server(registry.id.name)
        credentials = [
            Credential(one.get("identity", ""), one.get("username", ""), one.get("password", ""))
            for one in properties.get("imageRegistryCredentials") or []
            if one["server"].lower() == server
        ]
        if not credentials:
            return f"The group has no imageRegistryCredentials for the server {server}."
        return images.refused(credentials, registry, body, "group", "", services)

    listed = [(f"properties.{what}[{index}]", one) for what in _LISTS for index, one in enumerate(properties.get(what) or [])]
    for path, container in listed:
        text, target = container["properties"]["image"], f"{path}.properties.image"
        reference = image_reference.parse(text)
        if reference is not None:
            registry_limits.check_pull(reference.registry, services)
        try:
            images.check(text, may, services)
        except UnavailableError as error:
            if error.reference is None:
                raise refused("group: image name", image=text, why=error.message, path=target) from error
            raise inaccessible(text, group, target, error.message) from error
        subnet = reach.leads_nowhere(properties.get("subnetIds") or [], services)
        if subnet and reference is not None and public_images.is_public(reference):
            reason = f"The subnet {subnet} has no NAT gateway, so that nothing outside is reached."
            raise inaccessible(text, group, target, reason)


def inaccessible(image: str, group: str, target: str, reason: str) -> ArmError:
    """The service's sentence, and among the details what it never says: why."""
    details = [refused("group: image, why", why=reason, path=target)]
    return refused("group: image", image=image, group=group, path=target, details=details)


async def pull(container: Body, group: str, services: Services) -> Image:
    """The image of a container whose access was checked."""
    text = container["properties"]["image"]
    try:
        return await images.pull(text, services)
    except UnavailableError as error:
        raise inaccessible(text, group, f"properties.containers.{container['name']}.image", error.message) from error
