"""Resolves the image of a cluster's container, and checks whether the cluster may pull it: requests of node agents.

A request has an image's name, the pod's credentials and the token of a cluster's agent. A registry of ours is pulled from with
the cluster's kubelet identity, or as its admin user with a pull secret. The runtime's sentences are containerd's
(core/remotes/docker).
"""

import hmac

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from azure_gpu.formats import image_reference
from azure_gpu.formats.image_reference import ImageReference
from localazure.arm.errors import ArmError
from localazure.arm.store import Body, Resource
from localazure.containers.images import MACHINE
from localazure.kinds import images, public_images, registry_access
from localazure.kinds.registry_runs import LOGIN_SUFFIX
from localazure.kubernetes.agent import process_spec
from localazure.kubernetes.agent.images import PATH
from localazure.kubernetes.clusters import Clusters
from localazure.services import Services

_BEARER = "Bearer "


class RefusedError(Exception):
    """The message is what a container runtime would say."""


def routes(services: Services, clusters: Clusters) -> list[BaseRoute]:
    async def pull(request: Request) -> Response:
        given = request.headers.get("authorization", "")
        key = clusters.agent_key(given.removeprefix(_BEARER)) if given.startswith(_BEARER) else None
        if key is None:
            return JSONResponse({"message": "This is for the node agents of clusters."}, 401)
        requested = await request.json()
        try:
            return JSONResponse(await record(str(requested["image"]), list(requested.get("credentials") or ()), key, services))
        except RefusedError as error:
            return JSONResponse({"message": str(error)}, 400)

    return [Route(PATH, pull, methods=["POST"])]


async def record(text: str, credentials: list[Body], cluster: str, services: Services) -> Body:
    """The image. RefusedError where the cluster can't have it."""
    reference = image_reference.parse(text)
    if reference is None:
        raise RefusedError(f'failed to pull and unpack image "{text}": invalid reference format')
    if not public_images.is_public(reference) and reference.registry != MACHINE:
        _check(reference, credentials, cluster, services)
    try:
        return process_spec.record_of(await images.pull(text, services))
    except ArmError as error:
        raise RefusedError(f'failed to pull and unpack image "{reference}": {error.message}') from error


def _check(reference: ImageReference, credentials: list[Body], cluster: str, services: Services) -> None:
    registry = registry_access.registry_at(reference.registry, services)
    begin = f'failed to pull and unpack image "{reference}": failed to resolve reference "{reference}": '
    if registry is None:
        known = "it has the images that its own registries built, and the public ones of its documentation"
        raise RefusedError(f"{begin}the embedded Azure reaches no registry {reference.registry}: {known}")
    if not _may_pull(registry, credentials, cluster, services):
        address = f"https://{reference.registry}/oauth2/token?scope=repository%3A{reference.repository}%3Apull"
        refused = f"failed to authorize: failed to fetch anonymous token: unexpected status from GET request to {address}"
        why = f"neither the cluster's kubelet identity nor a pull secret of the pod may pull from {registry.id.name}"
        raise RefusedError(f"{begin}{refused}: 401 Unauthorized ({why})")
    if services.images.find(str(reference)) is None:
        raise RefusedError(f"{begin}{reference}: not found")


def _may_pull(registry: Resource, credentials: list[Body], cluster: str, services: Services) -> bool:
    principal = _kubelet_identity(cluster, services)
    if principal and registry_access.principal_may_pull(principal, registry, services):
        return True
    login = f"{registry.id.name}{LOGIN_SUFFIX}".lower()
    own = [one for one in credentials if hmac.compare_digest(str(one.get("server", "")).encode(), login.encode())]
    return any(registry_access.is_admin(registry, str(one["username"]), str(one["password"])) for one in own)


def _kubelet_identity(cluster: str, services: Services) -> str:
    """The object id of the identity that nodes pull with."""
    found = services.store.get(cluster)
    if found is None:
        return ""
    for properties in (found.service.get("properties") or {}, found.body.get("properties") or {}):
        identity = (properties.get("identityProfile") or {}).get("kubeletidentity") or {}
        if identity.get("objectId"):
            return str(identity["objectId"])
    return ""
