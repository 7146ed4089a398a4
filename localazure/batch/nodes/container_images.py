"""Resolves the image of a container on a node, where the pool or the task may pull it.

An image that can't be pulled makes a task fail, or a node unusable if its pool prefetches the image.
"""

from localazure.arm.store import Body, Resource
from localazure.batch.failures import NodeError, TaskError
from localazure.batch.pool_settings import PoolSettings
from localazure.containers.images import Image
from localazure.kinds import images
from localazure.kinds.images import Credential, UnavailableError
from localazure.kinds.registry_builds import login_server
from localazure.services import Services

CODE = "ContainerInvalidImage"


async def prefetch(settings: PoolSettings, services: Services) -> None:
    """The images that a pool wants on each node. NodeError for the first that isn't available."""
    for name in (settings.containers or {}).get("containerImageNames") or ():
        try:
            await _pull(str(name), [], settings, services)
        except UnavailableError as error:
            raise NodeError(CODE, ContainerImage=str(name), Message=_why(error, str(name))) from error


async def pull(name: str, registry: Body | None, settings: PoolSettings, services: Services) -> Image:
    """A task's image. `registry`: the task's own. TaskError where it isn't available."""
    try:
        return await _pull(name, [registry] if registry else [], settings, services)
    except UnavailableError as error:
        raise TaskError(CODE, ContainerImage=name, Message=_why(error, name)) from error


async def _pull(name: str, registries: list[Body], settings: PoolSettings, services: Services) -> Image:
    def may(registry: Resource) -> str:
        named = [*registries, *((settings.containers or {}).get("containerRegistries") or ())]
        credentials = [_credential(one) for one in named if _server_of(one) == login_server(registry.id.name)]
        if not credentials:
            return f"neither the task nor its pool has credentials for the registry {registry.id.name}"
        own = {"identity": {"userAssignedIdentities": dict.fromkeys(settings.identities)}}
        return images.refused(credentials, registry, own, "pool", "", services)

    images.check(name, may, services)
    return await images.pull(name, services)


def _why(error: UnavailableError, name: str) -> str:
    """In the words of a container runtime, where they are known."""
    if error.why == "missing":
        return f"manifest unknown: the registry {error.registry} has no image {name}"
    return f"unauthorized: {error.message}" if error.why == "denied" else error.message


def _credential(registry: Body) -> Credential:
    identity = str((registry.get("identityReference") or {}).get("resourceId") or "")
    name = str(registry.get("username") or registry.get("userName") or "")
    return Credential(identity, name, str(registry.get("password") or ""))


def _server_of(registry: Body) -> str:
    """A registry without a server means Docker Hub, which the embedded Azure doesn't reach."""
    return str(registry.get("registryServer") or "").lower().removeprefix("https://").rstrip("/")
