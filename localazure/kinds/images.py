"""Images of containers: those that registries of the embedded Azure built, and public ones that this machine stands in for.

Who gets an image is decided here for every service; in which words each service refuses is its own.
"""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from azure_gpu.formats import image_reference
from azure_gpu.formats.image_reference import ImageReference
from localazure.arm.errors import ArmError
from localazure.arm.store import Body, Resource
from localazure.containers.build_log import BuildFailedError
from localazure.containers.images import Image
from localazure.kinds import attached_identities, public_images, registry_access
from localazure.kinds.registry_runs import LOGIN_SUFFIX
from localazure.services import Services

CODE = "InvalidParameterValueInContainerTemplate"
SYSTEM = "system"  # in place of an identity's id: the resource's own
May = Callable[[Resource], str]  # why a registry isn't pulled from, or ""


class UnavailableError(ArmError):
    """An image that isn't to be had: it isn't a name, no registry answers, one refuses, or it isn't there."""

    def __init__(
        self,
        why: Literal["name", "registry", "denied", "missing", "lost"],
        message: str,
        reference: ImageReference | None = None,
        registry: str = "",
    ) -> None:
        super().__init__(400, CODE, message)
        self.why = why
        self.reference = reference
        self.registry = registry  # its name, where it is here


class Credential(NamedTuple):
    """What one registry is pulled from with: an identity, or a name and a password."""

    identity: str
    username: str = ""
    password: str = ""


def check(text: str, may: May, services: Services) -> None:
    """UnavailableError for an image that whoever `may` is about can't have."""
    reference = image_reference.parse(text)
    if reference is None:
        raise UnavailableError("name", image_reference.check(text, "image")[0].message)
    if public_images.is_public(reference):
        return
    registry = registry_access.registry_at(reference.registry, services)
    if registry is None and services.settings.nothing_runs:
        return  # nothing is pulled, so that none has to be reached
    if registry is None:
        message = (
            f"The embedded Azure reaches no registry {reference.registry}: it has the images that its own registries built "
            f"(<name>{LOGIN_SUFFIX}), and {public_images.KNOWN}."
        )
        raise UnavailableError("registry", message, reference)
    name, why = registry.id.name, may(registry)
    if why:
        raise UnavailableError("denied", why, reference, name)
    if services.images.find(str(reference)) is None:
        shown = f"{reference.repository}{'@' + reference.digest if reference.digest else ':' + reference.tag}"
        raise UnavailableError("missing", f"The registry {name} has no image {shown}.", reference, name)


async def pull(text: str, services: Services) -> Image:
    """An image that `check` has let through. One of the public ones is built now, where it hasn't been. UnavailableError."""
    reference = image_reference.parse(text)
    if reference is not None and public_images.is_public(reference):
        context = public_images.context_of(reference, services)
        log = services.settings.state / "logs" / f"build-{context.name}.log"
        try:
            return await public_images.built(reference, context, log, services)
        except BuildFailedError as error:
            message = f"The image '{text}' stands for {context.name}, whose build failed: {error} (log: {log})"
            raise UnavailableError("lost", message) from error
    image = services.images.find(text)
    if image is None:
        message = f"The image '{text}' was built, but is no longer among this machine's images; build it again."
        raise UnavailableError("lost", message)
    return image


def refused(credentials: Iterable[Credential], registry: Resource, body: Body, what: str, own: str, services: Services) -> str:
    """Why none of the credentials pulls from a registry, or "". `what`: job or group, with its `body` and `own` principal."""
    reasons = [_refused(one, registry, body, what, own, services) for one in credentials]
    return "" if "" in reasons else reasons[0]


def _refused(credential: Credential, registry: Resource, body: Body, what: str, own: str, services: Services) -> str:
    identity = credential.identity
    if not identity:
        allowed = registry_access.is_admin(registry, credential.username, credential.password)
        return "" if allowed else f"The registry {registry.id.name} doesn't take this user name and password."
    if identity.lower() == SYSTEM:
        principal, name = own, f"the {what}'s own identity"
    elif not attached_identities.is_attached(body, identity):
        return f"The identity {identity} isn't among the {what}'s own identities."
    else:
        principal, name = attached_identities.principal_of(identity, services), f"the identity {identity.rsplit('/', 1)[-1]}"
    if not principal or not registry_access.principal_may_pull(principal, registry, services):
        return f"No role, such as AcrPull, lets {name} pull from {registry.id.name}."
    return ""
