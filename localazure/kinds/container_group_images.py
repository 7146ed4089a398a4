"""Resolves the image of a container, and checks whether its group may pull it.

What was built here can be pulled, and the public images that this machine stands in for. Everything else is refused as the
service refuses an image that it can't reach.
"""

from azure_gpu.formats import image_reference
from azure_gpu.formats.image_reference import ImageReference
from localazure.arm.errors import ArmError
from localazure.arm.store import Body, Resource
from localazure.containers.build_log import BuildFailedError
from localazure.containers.images import Image
from localazure.kinds import attached_identities, public_images, registry_access
from localazure.kinds.registry_builds import LOGIN_SUFFIX
from localazure.services import Services
from localazure.weather import reach, registry_limits

_LISTS = ("initContainers", "containers")


def check_access(group: str, body: Body, services: Services) -> None:
    """ArmError 400 for the first image that the group can't have."""
    properties = body["properties"]
    listed = [(f"properties.{what}[{index}]", one) for what in _LISTS for index, one in enumerate(properties.get(what) or [])]
    for path, container in listed:
        text = container["properties"]["image"]
        reference = image_reference.parse(text)
        target = f"{path}.properties.image"
        if reference is None:
            reason = image_reference.check(text, target)[0]
            # The service's own code isn't known.
            raise ArmError(400, "InvalidImageName", f"'{text}': {reason.message}.", target=target)
        registry_limits.check_pull(reference.registry, services)
        if public_images.is_public(reference):
            _check_way_out(text, group, target, properties, services)
            continue
        reason = _no_access(reference, body, services)
        if reason:
            raise inaccessible(text, group, target, reason)


def _check_way_out(image: str, group: str, target: str, properties: Body, services: Services) -> None:
    """ArmError 400 for an image of the internet, in a subnet that leads nowhere."""
    subnet = reach.leads_nowhere(properties.get("subnetIds") or [], services)
    if subnet:
        raise inaccessible(image, group, target, f"The subnet {subnet} has no NAT gateway, so that nothing outside is reached.")


def inaccessible(image: str, group: str, target: str, reason: str) -> ArmError:
    """The service's sentence, and among the details what it never says: why."""
    message = (
        f"The image '{image}' in container group '{group}' is not accessible. Please check the image and registry credential."
    )
    return ArmError(
        400, "InaccessibleImage", message, target=target, details=[ArmError(400, "InaccessibleImage", reason, target=target)]
    )


async def pull(container: Body, group: str, services: Services) -> Image:
    """The image of a container whose access was checked. A public one is built now, where it hasn't been."""
    text = container["properties"]["image"]
    reference = image_reference.parse(text)
    target = f"properties.containers.{container['name']}.image"
    if reference is not None and public_images.is_public(reference):
        context = public_images.context_of(reference, services)
        log = services.settings.state / "logs" / f"build-{context.name}.log"
        try:
            return await public_images.built(reference, context, log, services)
        except BuildFailedError as error:
            reason = f"It stands for {context.name}, whose build failed: {error} (log: {log})"
            raise inaccessible(text, group, target, reason) from error
    image = services.images.find(text)
    if image is None:
        raise inaccessible(text, group, target, "It was built, but is no longer among this machine's images; build it again.")
    return image


def _no_access(reference: ImageReference, body: Body, services: Services) -> str:
    """Why an image can't be pulled, or ""."""
    registry = registry_access.registry_at(reference.registry, services)
    if registry is None:
        if services.settings.nothing_runs:
            return ""  # nothing is pulled, so that none has to be reached
        return (
            f"The embedded Azure reaches no registry {reference.registry}: it has the images that its own registries built "
            f"(<name>{LOGIN_SUFFIX}), and {public_images.KNOWN}."
        )
    if services.images.find(str(reference)) is None:
        return f"The registry {registry.id.name} has no image {reference.repository}:{reference.tag or reference.digest}."
    credentials = [
        one for one in body["properties"].get("imageRegistryCredentials") or [] if one["server"].lower() == reference.registry
    ]
    if not credentials:
        return f"The group has no imageRegistryCredentials for the server {reference.registry}."
    reasons = [_refused_credential(one, registry, body, services) for one in credentials]
    return "" if "" in reasons else reasons[0]


def _refused_credential(credential: Body, registry: Resource, body: Body, services: Services) -> str:
    """Why a credential doesn't open the registry, or ""."""
    if "identity" not in credential:
        allowed = registry_access.is_admin(registry, credential.get("username", ""), credential.get("password", ""))
        return "" if allowed else f"The registry {registry.id.name} doesn't take this user name and password."
    identity_id = credential["identity"]
    if not attached_identities.is_attached(body, identity_id):
        return f"The identity {identity_id} isn't among the group's own identities."
    principal = attached_identities.principal_of(identity_id, services)
    if principal is None:
        return f"There is no identity {identity_id}."
    if not registry_access.principal_may_pull(principal, registry, services):
        name = identity_id.rsplit("/", 1)[-1]
        return f"The identity {name} has no role, such as AcrPull, that lets it pull from {registry.id.name}."
    return ""
