"""Resolves the image of a job's container, and checks whether the job may pull it.

As for container groups: what a registry of the embedded Azure built, and the public images that this machine stands in for. Codes
and sentences of the service were read in
  - InvalidParameterValueInContainerTemplate, MANIFEST_UNKNOWN: Azure-Samples/call-center-voice-agent-accelerator issue 3,
    PacktPublishing/Pragmatic-Microservices-with-CSharp-and-Azure issue 81
  - UNAUTHORIZED: Azure/container-apps-deploy-action issue 85
"""

from urllib.parse import quote

from azure_gpu.formats import image_reference
from azure_gpu.formats.image_reference import ImageReference
from localazure.arm.errors import ArmError
from localazure.arm.store import Body, Resource
from localazure.containers.build_log import BuildFailedError
from localazure.containers.images import Image
from localazure.kinds import attached_identities, public_images, registry_access
from localazure.kinds.registry_builds import LOGIN_SUFFIX
from localazure.services import Services

CODE = "InvalidParameterValueInContainerTemplate"
SYSTEM = "system"  # in place of an identity's id: the job's own


def check(body: Body, containers: list[Body], previous: Resource | None, services: Services) -> None:
    """ArmError 400 for the first image that the job can't have. `containers`: the template's, init containers among them."""
    for container in containers:
        text = container["image"]
        reference = image_reference.parse(text)
        if reference is None:
            raise _invalid(container, image_reference.check(text, "image")[0].message, "")
        if public_images.is_public(reference):
            continue
        registry = registry_access.registry_at(reference.registry, services)
        if registry is None and services.settings.nothing_runs:
            continue  # nothing is pulled, so that none has to be reached
        if registry is None:
            why = (
                f"The embedded Azure reaches no registry {reference.registry}: it has the images that its own registries built "
                f"(<name>{LOGIN_SUFFIX}), and {public_images.KNOWN}."
            )
            raise _invalid(container, _unauthorized(reference), why)
        why = _refused(reference, registry, body, previous, services)
        if why:
            raise _invalid(container, _unauthorized(reference), why)
        if services.images.find(str(reference)) is None:
            raise _invalid(
                container, _unknown(reference), f"The registry {registry.id.name} has no image {_of_registry(reference)}."
            )


async def pull(text: str, services: Services) -> Image:
    """The image of a container whose access was checked. One of the public ones is built now, where it hasn't been."""
    reference = image_reference.parse(text)
    if reference is not None and public_images.is_public(reference):
        return await _public(reference, text, services)
    image = services.images.find(text)
    if image is None:
        message = f"The image '{text}' was built, but is no longer among this machine's images; build it again."
        raise ArmError(400, CODE, message)
    return image


async def _public(reference: ImageReference, text: str, services: Services) -> Image:
    context = public_images.context_of(reference, services)
    log = services.settings.state / "logs" / f"build-{context.name}.log"
    try:
        return await public_images.built(reference, context, log, services)
    except BuildFailedError as error:
        message = f"The image '{text}' stands for {context.name}, whose build failed: {error} (log: {log})"
        raise ArmError(400, CODE, message) from error


def _refused(reference: ImageReference, registry: Resource, body: Body, previous: Resource | None, services: Services) -> str:
    """Why the job may not pull from a registry, or ""."""
    configuration = body["properties"]["configuration"]
    credentials = [
        one for one in configuration.get("registries") or [] if str(one.get("server", "")).lower() == reference.registry
    ]
    if not credentials:
        return f"The job has no credentials for the registry {reference.registry} among its configuration.registries."
    reasons = [_refused_credential(one, registry, body, previous, services) for one in credentials]
    return "" if "" in reasons else reasons[0]


def _refused_credential(credential: Body, registry: Resource, body: Body, previous: Resource | None, services: Services) -> str:
    identity = credential.get("identity") or ""
    if not identity:
        secrets = {one.get("name"): one.get("value") for one in body["properties"]["configuration"].get("secrets") or []}
        password = secrets.get(credential.get("passwordSecretRef")) or ""
        allowed = registry_access.is_admin(registry, credential.get("username") or "", password)
        return "" if allowed else f"The registry {registry.id.name} doesn't take this user name and password."
    if identity.lower() == SYSTEM:
        principal = ((previous.service.get("identity") or {}) if previous else {}).get("principalId")
        name = "the job's own identity"
    else:
        if not attached_identities.is_attached(body, identity):
            return f"The identity {identity} isn't among the job's own identities."
        principal = attached_identities.principal_of(identity, services)
        name = f"the identity {identity.rsplit('/', 1)[-1]}"
    if principal is None or not registry_access.principal_may_pull(principal, registry, services):
        return f"No role, such as AcrPull, lets {name} pull from {registry.id.name}."
    return ""


def _invalid(container: Body, reason: str, why: str) -> ArmError:
    """The service's sentence, and among the details what it doesn't say."""
    target = f"template.containers.{container['name']}.image"
    message = (
        f"The following field(s) are either invalid or missing. Field '{target}' is invalid with details: "
        f"'Invalid value: \"{container['image']}\": {reason}';."
    )
    return ArmError(400, CODE, message, target=target, details=[ArmError(400, CODE, why, target=target)] if why else [])


def _unauthorized(reference: ImageReference) -> str:
    scope = quote(f"repository:{reference.repository}:pull", safe="")
    return (
        f"GET https:?scope={scope}&service={reference.registry}: UNAUTHORIZED: authentication required, "
        "visit https://aka.ms/acr/authorization for more information."
    )


def _unknown(reference: ImageReference) -> str:
    if reference.digest:
        return f"GET https:: MANIFEST_UNKNOWN: manifest {reference.digest} is not found"
    return f'GET https:: MANIFEST_UNKNOWN: manifest tagged by "{reference.tag}" is not found; map[Tag:{reference.tag}]'


def _of_registry(reference: ImageReference) -> str:
    return f"{reference.repository}{'@' + reference.digest if reference.digest else ':' + reference.tag}"
