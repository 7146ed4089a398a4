"""What a registry doesn't do: builds that aren't permitted or meet a closed registry, builds from Docker Hub over its limit,
pulls by roles of another mode."""

from collections.abc import Collection
from pathlib import Path

from azure_gpu.catalog import roles
from azure_gpu.formats import azure_types, dockerfile as dockerfiles, image_reference
from localazure.arm.errors import refused
from localazure.arm.store import Resource
from localazure.containers.build_log import BuildFailedError
from localazure.services import Services

DOCKER_HUB = "docker.io"
# Roles that may pull in the mode AbacRepositoryPermissions.
REPOSITORY_ROLES = frozenset({roles.REPOSITORY_READER, roles.REPOSITORY_WRITER, roles.REPOSITORY_CONTRIBUTOR})


def check_tasks(registry: str, subscription: str, services: Services) -> None:
    """ArmError 400 where the registry isn't permitted to build."""
    if services.weather.holds("tasks-not-allowed"):
        raise refused("TasksOperationsNotAllowed", registry=registry, subscription=subscription)


def check_network(registry: str, services: Services) -> None:
    """BuildFailedError where the registry takes no public networks: the service's agents are in none of its own."""
    found = services.store.named(azure_types.REGISTRY.arm_type, registry)
    if services.weather.holds("private-endpoints") and found and found[0].properties.get("publicNetworkAccess") == "Disabled":
        # Azure/azure-cli issue 27253 (2023-08-24); the inner message: docker/build-push-action issue 1214 (2024-08-19)
        raise BuildFailedError(
            f"Logging in to registry: {registry}",
            "failed to login, ran out of retries: failed to set docker credentials: Error response from daemon: denied: client "
            "with IP '192.0.2.1' is not allowed access. Refer https://aka.ms/acr/firewall to grant access.",
        )


def check_bases(context: Path, dockerfile: str, arguments: dict[str, str], services: Services) -> None:
    """BuildFailedError where a stage starts from an image of Docker Hub, whose limit is reached."""
    if not services.weather.holds("docker-hub-limit"):
        return
    file = context / dockerfile
    parsed, problems = dockerfiles.parse(file.read_text(encoding="utf-8") if file.is_file() else "", dockerfile)
    known = {one.name: arguments.get(one.name, one.default or "") for one in parsed.arguments} if not problems else {}
    before = {"scratch"}
    for stage in parsed.stages if not problems else ():
        base = dockerfiles.substitute(stage.start.image, known)
        image = image_reference.parse(base) if base.lower() not in before else None
        before.add(stage.start.name)
        if image is not None and image.registry == DOCKER_HUB:
            # MicrosoftLearning/mslearn-azure-ai issue 125
            raise BuildFailedError(
                f"line {stage.start.line}: FROM {stage.start.image}",
                "toomanyrequests: You have reached your unauthenticated pull rate limit. "
                "https://www.docker.com/increase-rate-limit",
            )


def check_pull(registry: str, services: Services) -> None:
    """ArmError 409 for a container group whose image is in Docker Hub."""
    if registry == DOCKER_HUB and services.weather.holds("registry-error"):
        raise refused("RegistryErrorResponse")


def mode_of(registry: Resource, services: Services) -> str:
    """Which roles the registry honours, as it shows it."""
    if services.weather.holds("abac-registries"):
        return roles.ABAC
    return str(registry.properties.get(roles.REGISTRY_MODE) or roles.LEGACY)


def pulling_roles(registry: Resource, ordinary: Collection[str], services: Services) -> Collection[str]:
    """The roles that let pull from a registry: `ordinary`, unless it is in the mode with conditions for repositories."""
    return REPOSITORY_ROLES if mode_of(registry, services) == roles.ABAC else ordinary
