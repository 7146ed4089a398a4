"""Resolves the image of a container on a node, and checks whether the pool may pull it, as for jobs of Container Apps.

An image that can't be pulled makes a task fail, or a node unusable if its pool prefetches the image.
"""

from azure_gpu.formats import image_reference
from localazure.arm.errors import ArmError
from localazure.arm.store import Body, Resource
from localazure.batch.failures import NodeError, TaskError
from localazure.batch.pool_settings import PoolSettings
from localazure.containers.images import Image
from localazure.kinds import attached_identities, images, public_images, registry_access
from localazure.services import Services

CODE = "ContainerInvalidImage"


class _RefusedError(Exception):
    """The message has the reason."""


async def prefetch(settings: PoolSettings, services: Services) -> None:
    """The images that a pool wants on each node. NodeError for the first that isn't available."""
    containers = settings.containers or {}
    for name in containers.get("containerImageNames") or ():
        try:
            await _pull(str(name), [], settings, services)
        except _RefusedError as error:
            raise NodeError(CODE, ContainerImage=str(name), Message=str(error)) from error


async def pull(name: str, registry: Body | None, settings: PoolSettings, services: Services) -> Image:
    """A task's image. `registry`: the task's own. TaskError where it isn't available."""
    try:
        return await _pull(name, [registry] if registry else [], settings, services)
    except _RefusedError as error:
        raise TaskError(CODE, ContainerImage=name, Message=str(error)) from error


async def _pull(name: str, registries: list[Body], settings: PoolSettings, services: Services) -> Image:
    reference = image_reference.parse(name)
    if reference is None:
        raise _RefusedError(image_reference.check(name, "imageName")[0].message)
    if not public_images.is_public(reference):
        registry = registry_access.registry_at(reference.registry, services)
        if registry is None:
            raise _RefusedError(
                f"The embedded Azure reaches no registry {reference.registry}: it has the images that its own built"
            )
        named = [*registries, *((settings.containers or {}).get("containerRegistries") or ())]
        _check_access(registry, [one for one in named if _server_of(one) == reference.registry], settings, services)
        if services.images.find(str(reference)) is None:
            raise _RefusedError(f"manifest unknown: the registry {registry.id.name} has no image {name}")
    try:
        return await images.pull(name, services)
    except ArmError as error:
        raise _RefusedError(error.message) from error


def _check_access(registry: Resource, credentials: list[Body], settings: PoolSettings, services: Services) -> None:
    if not credentials:
        raise _RefusedError(f"unauthorized: neither the task nor its pool has credentials for the registry {registry.id.name}")
    reasons = [_refused(one, registry, settings, services) for one in credentials]
    if "" not in reasons:
        raise _RefusedError(f"unauthorized: {reasons[0]}")


def _refused(credential: Body, registry: Resource, settings: PoolSettings, services: Services) -> str:
    """Why a credential doesn't pull, or ""."""
    identity = str((credential.get("identityReference") or {}).get("resourceId") or "")
    if not identity:
        name = str(credential.get("username") or credential.get("userName") or "")
        allowed = registry_access.is_admin(registry, name, str(credential.get("password") or ""))
        return "" if allowed else f"the registry {registry.id.name} doesn't take this user name and password"
    shown = identity.rsplit("/", 1)[-1]
    if identity.lower() not in (one.lower() for one in settings.identities):
        return f"the identity {shown} isn't among the pool's own identities"
    principal = attached_identities.principal_of(identity, services)
    if principal is None or not registry_access.principal_may_pull(principal, registry, services):
        return f"no role, such as AcrPull, lets the identity {shown} pull from {registry.id.name}"
    return ""


def _server_of(registry: Body) -> str:
    """A registry without a server means Docker Hub, which the embedded Azure doesn't reach."""
    return str(registry.get("registryServer") or "").lower().removeprefix("https://").rstrip("/")
