"""Which image a container means, and whether its group may pull it.

Only what was built here can be pulled. Two images of a public article of 2019 are known by name, and stand for this project's own
workloads, which the checkout that the server was started in holds. Everything else is refused as the service refuses an image
that it can't reach.
"""

from collections.abc import Mapping

from catalog import roles
from formats import azure_types, image_reference
from formats.arm_ids import parse as parse_id
from formats.image_reference import ImageReference
from localazure.arm.errors import ArmError
from localazure.arm.store import Body, Resource
from localazure.containers.build_log import BuildFailedError
from localazure.containers.images import Image
from localazure.kinds.registries import LOGIN_SUFFIX, login_server
from localazure.kinds.roles import has_role
from localazure.services import Services

# Microsoft Docs, container-instances-gpu.md, 2019-04-17: the two examples; and where each image moved to later.
ARTICLE_IMAGES: Mapping[str, str] = {
    "k8s-gcrio.azureedge.net/cuda-vector-add:v0.1": "vector_add",
    "k8s.gcr.io/cuda-vector-add:v0.1": "vector_add",
    "docker.io/microsoft/samples-tf-mnist-demo:gpu": "mnist",
    "mcr.microsoft.com/azuredocs/samples-tf-mnist-demo:gpu": "mnist",
}
# Microsoft Learn, container-registry/container-registry-roles, read 2026-11-20: the roles that may pull an image.
MAY_PULL = frozenset({roles.OWNER, roles.CONTRIBUTOR, roles.READER, roles.ACR_PUSH, roles.ACR_PULL})


def check_access(group: str, body: Body, services: Services) -> None:
    """ArmError 400 for the first image that the group can't have."""
    for index, container in enumerate(body["properties"]["containers"]):
        text = container["properties"]["image"]
        reference = image_reference.parse(text)
        target = f"properties.containers[{index}].properties.image"
        if reference is None:
            reason = image_reference.check(text, target)[0]
            # The service's own code isn't known.
            raise ArmError(400, "InvalidImageName", f"'{text}': {reason.message}.", target=target)
        if str(reference) in ARTICLE_IMAGES:
            continue
        reason = _no_access(reference, body, services)
        if reason:
            raise inaccessible(text, group, target, reason)


def inaccessible(image: str, group: str, target: str, reason: str) -> ArmError:
    """The service's sentence, and among the details what it never says: why."""
    message = (
        f"The image '{image}' in container group '{group}' is not accessible. Please check the image and registry credential."
    )
    return ArmError(
        400, "InaccessibleImage", message, target=target, details=[ArmError(400, "InaccessibleImage", reason, target=target)]
    )


async def pull(container: Body, group: str, services: Services) -> Image:
    """The image of a container whose access was checked. An image of the article is built now, where it hasn't been."""
    text = container["properties"]["image"]
    reference = image_reference.parse(text)
    target = f"properties.containers.{container['name']}.image"
    workload = ARTICLE_IMAGES.get(str(reference))
    if workload is not None:
        log = services.settings.state / "logs" / f"build-{workload}.log"
        try:
            return await services.images.build(services.settings.checkout / "workloads" / workload, "Dockerfile", {}, [text], log)
        except BuildFailedError as error:
            reason = f"It stands for workloads/{workload}, whose build failed: {error} (log: {log})"
            raise inaccessible(text, group, target, reason) from error
    image = services.images.find(text)
    if image is None:
        raise inaccessible(text, group, target, "It was built, but is no longer among this machine's images; build it again.")
    return image


def _no_access(reference: ImageReference, body: Body, services: Services) -> str:
    """Why an image can't be pulled, or ""."""
    registry = _registry(reference.registry, services)
    if registry is None:
        known = ", ".join(sorted(ARTICLE_IMAGES))
        return (
            f"The embedded Azure reaches no registry {reference.registry}: it has the images that its own registries built "
            f"(<name>{LOGIN_SUFFIX}), and {known}."
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


def _registry(login: str, services: Services) -> Resource | None:
    if not login.endswith(LOGIN_SUFFIX):
        return None
    found = services.store.named(azure_types.REGISTRY.arm_type, login.removesuffix(LOGIN_SUFFIX))
    return next((registry for registry in found if login_server(registry.id.name) == login), None)


def _refused_credential(credential: Body, registry: Resource, body: Body, services: Services) -> str:
    """Why a credential doesn't open the registry, or ""."""
    if "identity" not in credential:
        is_admin = credential.get("username", "").lower() == registry.id.name.lower()
        right = credential.get("password") in registry.private["passwords"].values()
        allowed = registry.properties.get("adminUserEnabled") and is_admin and right
        return "" if allowed else f"The registry {registry.id.name} doesn't take this user name and password."
    identity_id = credential["identity"]
    attached = (body.get("identity") or {}).get("userAssignedIdentities") or {}
    if identity_id.lower() not in {one.lower() for one in attached}:
        return f"The identity {identity_id} isn't among the group's own identities."
    parsed = parse_id(identity_id)
    identity = services.store.get(parsed.key) if parsed else None
    if identity is None:
        return f"There is no identity {identity_id}."
    principal = identity.service["properties"]["principalId"]
    if not has_role(services, principal, MAY_PULL, registry.key):
        return f"The identity {identity.id.name} has no role, such as AcrPull, that lets it pull from {registry.id.name}."
    return ""
