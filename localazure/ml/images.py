"""Resolves the image of a deployment: one that a registry of the embedded Azure built, or an environment from a conda file.

ArmError in the service's words where there is none.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog.services.machine_learning import deployments
from azure_gpu.formats.conda_file import CondaFileError
from localazure.arm.store import Body, Resource
from localazure.containers.build_log import BuildFailedError
from localazure.containers.images import Image
from localazure.kinds import images
from localazure.kinds.images import UnavailableError
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
    reference: str  # the name that a cluster pulls it by
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
    routes = _routes(properties.get("inferenceConfig") or {})
    script = str(code.get("scoringScript") or "")
    variables = {"AML_APP_ROOT": CODE, "AZUREML_ENTRY_SCRIPT": script} if script else {}
    if properties.get("condaFile"):
        image, reference = await _from_conda(str(properties["condaFile"]), log, services)
        command = ("python", "-m", _MODULE, "--entry_script", f"{CODE}/{script or 'main.py'}")
        return Served(replace(image, workdir=CODE), reference, command, variables, *routes)
    reference = str(properties.get("image") or "")
    return Served(await _pulled(reference, identity, services), reference, (), variables, *routes)


def _routes(given: Body) -> tuple[Route, Route, Route]:
    """Scoring, liveness, readiness."""

    def route(name: str, path: str) -> Route:
        said: Body = given.get(name) or {}
        return Route(int(said.get("port") or deployments.PORT), str(said.get("path") or path))

    score = route("scoringRoute", deployments.SCORING_ROUTE)
    return score, route("livenessRoute", deployments.LIVENESS_ROUTE), route("readinessRoute", deployments.LIVENESS_ROUTE)


async def _pulled(text: str, identity: Identity | None, services: Services) -> Image:
    try:
        images.check(text, lambda registry: "" if identity is None or identity.may_pull(registry) else "denied", services)
        return await images.pull(text, services)
    except UnavailableError as error:
        if identity is not None and error.why == "denied":
            shown = f"the registry {error.registry}"
            raise failures.not_authorized(identity.shown, "AcrPull", shown, "pull the image") from error
        raise failures.of("BadArgument", f"User container image download failed: {error.message}") from error


async def _from_conda(text: str, log: Path, services: Services) -> tuple[Image, str]:
    try:
        requested = conda.environment(text)
        made = await services.images.of_packages(requested.python, requested.requirements, "the conda file", log)
    except CondaFileError as error:
        raise failures.of("ImageBuildFailure", f"The environment's conda file can't be read: {error}.") from error
    except BuildFailedError as error:
        shown = "\n".join(error.message.splitlines()[-_KEPT_LINES:])
        raise failures.of("ImageBuildFailure", f"The environment of the conda file could not be made: {shown}") from error
    if not requested.has_server:
        raise failures.of(
            "ImageBuildFailure",
            f"A required package {conda.SERVER} is missing in the conda file. Please see https://aka.ms/azmlinfsrvmissing",
        )
    return made
