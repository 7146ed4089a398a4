"""Whether a job may pull its images. UNAUTHORIZED, in a refusal: Azure/container-apps-deploy-action issue 85."""

from urllib.parse import quote

from localazure.arm.errors import ArmError, refused
from localazure.arm.store import Body, Resource
from localazure.kinds import images
from localazure.kinds.images import Credential, UnavailableError
from localazure.kinds.registry_runs import login_server
from localazure.services import Services


def check(body: Body, containers: list[Body], previous: Resource | None, services: Services) -> None:
    """ArmError 400 for the first image that the job can't have. `containers`: the template's, init containers among them."""

    def may(registry: Resource) -> str:
        configuration, server = body["properties"]["configuration"], login_server(registry.id.name)
        secrets = {one.get("name"): one.get("value") for one in configuration.get("secrets") or []}
        credentials = [
            Credential(one.get("identity") or "", one.get("username") or "", secrets.get(one.get("passwordSecretRef")) or "")
            for one in configuration.get("registries") or []
            if str(one.get("server", "")).lower() == server
        ]
        if not credentials:
            return f"The job has no credentials for the registry {server} among its configuration.registries."
        own = ((previous.service.get("identity") or {}) if previous else {}).get("principalId") or ""
        return images.refused(credentials, registry, body, "job", own, services)

    for container in containers:
        try:
            images.check(container["image"], may, services)
        except UnavailableError as error:
            raise _invalid(container, error) from error


def _invalid(container: Body, error: UnavailableError) -> ArmError:
    """The service's sentence, and among the details what it doesn't say."""
    target = f"template.containers.{container['name']}.image"
    details = [refused("job: image, why", why=error.message, path=target)] if error.reference is not None else []
    return refused("job: image", path=target, image=container["image"], why=_reason(error), details=details)


def _reason(error: UnavailableError) -> str:
    reference = error.reference
    if reference is None:
        return error.message
    if error.why == "missing" and reference.digest:
        return f"GET https:: MANIFEST_UNKNOWN: manifest {reference.digest} is not found"
    if error.why == "missing":
        return f'GET https:: MANIFEST_UNKNOWN: manifest tagged by "{reference.tag}" is not found; map[Tag:{reference.tag}]'
    scope = quote(f"repository:{reference.repository}:pull", safe="")
    return (
        f"GET https:?scope={scope}&service={reference.registry}: UNAUTHORIZED: authentication required, "
        "visit https://aka.ms/acr/authorization for more information."
    )
