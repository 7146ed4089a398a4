"""Resolves the image of a deployment: one that a registry of the embedded Azure built, or an environment from a conda file.

ArmError in the service's words where there is none.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog.services.machine_learning import deployments
from azure_gpu.formats import image_reference
from azure_gpu.formats.conda_file import CondaFileError
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.store import Body, Resource
from localazure.containers.build_log import BuildFailedError
from localazure.containers.images import Image
from localazure.kinds import job_images, public_images, registry_access
from localazure.ml import conda, failures
from localazure.ml.access import Identity
from localazure.services import Services

CODE = "/var/azureml-app/code"
_MODULE = deployments.SERVER_PACKAGE.replace("-", "_")
_KEPT_LINES = 15


class Route(NamedTuple):
    """Where a container is asked."""

    port: int
    path: str


class Served(NamedTuple):
    """An image, how it is started, and where it answers."""

    image: Image
    command: tuple[str, ...]  # empty: the image's own
    variables: Mapping[str, str]
    score: Route
    liveness: Route
    readiness: Route

    @property
    def ports(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((self.score.port, self.liveness.port, self.readiness.port)))


async def served(environment: Resource, code: Body, identity: Identity | None, log: Path, services: Services) -> Served:
    """`code`: the deployment's codeConfiguration, or {}. `identity`: who pulls; None where a cluster's nodes do, by rights of
    their own. `log`: where a build's output goes."""
    properties = environment.properties
    if properties.get("build"):
        raise not_implemented("an environment with 'build', built from a Dockerfile in blob storage")
    routes = _routes(properties.get("inferenceConfig") or {})
    script = str(code.get("scoringScript") or "")
    variables = {"AML_APP_ROOT": CODE, "AZUREML_ENTRY_SCRIPT": script} if script else {}
    if properties.get("condaFile"):
        if identity is None:
            raise not_implemented("an environment with a conda file on Kubernetes; set an image that has its packages")
        image = await _from_conda(str(properties["condaFile"]), log, services)
        return Served(image, ("python", "-m", _MODULE, "--entry_script", script or "main.py"), variables, *routes)
    image = await _pulled(str(properties.get("image") or ""), identity, services)
    return Served(image, (), variables, *routes)


def _routes(given: Body) -> tuple[Route, Route, Route]:
    """Scoring, liveness, readiness."""

    def route(name: str, path: str) -> Route:
        said: Body = given.get(name) or {}
        return Route(int(said.get("port") or deployments.PORT), str(said.get("path") or path))

    score = route("scoringRoute", deployments.SCORING_ROUTE)
    return score, route("livenessRoute", deployments.LIVENESS_ROUTE), route("readinessRoute", deployments.LIVENESS_ROUTE)


async def _pulled(text: str, identity: Identity | None, services: Services) -> Image:
    reference = image_reference.parse(text)
    if reference is None:
        raise failures.bad_argument(f"User container image download failed: '{text}' isn't a valid image name.")
    if not public_images.is_public(reference):
        registry = registry_access.registry_at(reference.registry, services)
        if registry is None:
            raise failures.bad_argument(
                f"User container image download failed: the embedded Azure reaches no registry {reference.registry}. It has the "
                "images that its own registries built, and makes environments from conda files."
            )
        if identity is not None and not identity.may_pull(registry):
            raise failures.not_authorized(identity.shown, "AcrPull", f"the registry {registry.id.name}", "pull the image")
        if services.images.find(text) is None:
            raise failures.bad_argument(
                f"User container image download failed: the registry {registry.id.name} has no image "
                f"{reference.repository}:{reference.tag or reference.digest}."
            )
    try:
        return await job_images.pull(text, services)
    except ArmError as error:
        raise failures.bad_argument(f"User container image download failed: {error.message}") from error


async def _from_conda(text: str, log: Path, services: Services) -> Image:
    try:
        image, has_server = await conda.image(text, log, services.settings.state / "ml-endpoints" / "plain-root", CODE)
    except CondaFileError as error:
        raise failures.image_build(f"The environment's conda file can't be read: {error}.") from error
    except BuildFailedError as error:
        shown = "\n".join(error.message.splitlines()[-_KEPT_LINES:])
        raise failures.image_build(f"The environment of the conda file could not be made: {shown}") from error
    if not has_server:
        raise failures.image_build(
            f"A required package {conda.SERVER} is missing in the conda file. Please see https://aka.ms/azmlinfsrvmissing"
        )
    return image
