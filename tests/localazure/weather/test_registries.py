"""Registries: builds that meet a limit, pulls that a role doesn't permit, and images that can't be reached."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.catalog import roles
from azure_gpu.formats import image_reference
from azure_gpu.formats.build_context import DOCKERFILE
from azure_gpu_operations.run.context import BASE_IMAGE, of_script
from localazure.arm.errors import ArmError
from localazure.arm.store import Resource
from localazure.containers.build_log import BuildFailedError
from localazure.kinds import container_group_images, registry_access
from localazure.weather import reach, registry_limits
from tests.localazure.conftest import new_group
from tests.localazure.weather.conftest import on
from tests.localazure.weather.test_endpoints import GROUP, REGISTRY, kept
from tests.localazure.weather.test_principals_and_roles import ROLES, assignment, body
from tests.support.embedded import CHECKOUT
from tests.support.in_process import InProcessAzure, judging_as_if_things_ran
from tests.support.managed_clusters import ArmHarness

GROUPS = "2024-05-01-preview"
NETWORK = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/net"


def test_a_closed_registry_lets_no_agent_of_the_service_in(arm: ArmHarness) -> None:
    name = kept(arm, REGISTRY, properties={"publicNetworkAccess": "Disabled"}).id.name
    registry_limits.check_network(name, arm.services)
    on(arm, "private-endpoints")
    with pytest.raises(BuildFailedError, match="is not allowed access"):
        registry_limits.check_network(name, arm.services)


def test_a_build_from_docker_hub_meets_the_limit_of_pulls(arm: ArmHarness, tmp_path: Path) -> None:
    (tmp_path / "Hub").write_text("ARG BASE=python:3.11\nFROM mcr.microsoft.com/x:1 AS first\nFROM ${BASE}\n")
    (tmp_path / "Own").write_text("FROM mcr.microsoft.com/x:1 AS first\nFROM scratch\nFROM first\n")
    registry_limits.check_bases(tmp_path, "Hub", {}, arm.services)
    on(arm, "docker-hub-limit")
    registry_limits.check_bases(tmp_path, "Own", {}, arm.services)
    registry_limits.check_bases(tmp_path, "Hub", {"BASE": "mcr.microsoft.com/python:3.11"}, arm.services)
    with pytest.raises(BuildFailedError, match=r"line 3: FROM \$\{BASE\}: toomanyrequests: You have reached"):
        registry_limits.check_bases(tmp_path, "Hub", {}, arm.services)


STACK_FILES = sorted({*CHECKOUT.glob("Pulumi.*.yaml"), *CHECKOUT.glob("examples/*/Pulumi.*.yaml")})


def images_in(value: Any) -> list[str]:
    """Every `image` of a stack file."""
    if not isinstance(value, dict):
        return []
    here = [str(value["image"])] if isinstance(value.get("image"), str) else []
    return [*here, *(image for inner in value.values() for image in images_in(inner))]


@pytest.mark.parametrize("file", sorted((CHECKOUT / "workloads").glob("*/*Dockerfile")), ids=lambda file: file.parent.name)
def test_a_workload_is_built_while_the_limit_of_docker_hub_is_reached(arm: ArmHarness, file: Path) -> None:
    on(arm, "docker-hub-limit")
    registry_limits.check_bases(file.parent, file.name, {}, arm.services)


def test_a_script_is_built_while_the_limit_of_docker_hub_is_reached(arm: ArmHarness, tmp_path: Path) -> None:
    context = of_script("train.py", "print(1)\n", "numpy\n", BASE_IMAGE)
    (tmp_path / DOCKERFILE).write_bytes(context.files[DOCKERFILE])
    on(arm, "docker-hub-limit")
    registry_limits.check_bases(tmp_path, DOCKERFILE, {}, arm.services)


# What the documents show is kept as they show it.
@pytest.mark.parametrize("file", [file for file in STACK_FILES if "documents" not in str(file)], ids=lambda file: file.stem)
def test_the_groups_of_a_shipped_stack_start_while_docker_hub_refuses(arm: ArmHarness, file: Path) -> None:
    on(arm, "registry-error")
    for image in images_in(yaml.load(file.read_text(), yaml.CSafeLoader)["config"]):
        reference = image_reference.parse(image)
        assert reference is not None
        registry_limits.check_pull(reference.registry, arm.services)


def test_a_registry_with_conditions_for_repositories_takes_another_role(arm: ArmHarness) -> None:
    principal = arm.services.settings.principal_id
    ordinary, other = (
        kept(arm, REGISTRY),
        kept(arm, f"{REGISTRY}2", properties={"roleAssignmentMode": "AbacRepositoryPermissions"}),
    )

    def give(role: str, scope: str) -> None:
        assert arm.put(assignment(scope), body(principal, role), ROLES).status_code == 201

    def may(registry: Resource) -> bool:
        return registry_access.principal_may_pull(principal, registry, arm.services)

    for each in (ordinary, other):
        give(roles.ACR_PULL, each.id.text)
    assert (may(ordinary), may(other)) == (True, False)
    on(arm, "abac-registries")
    assert not may(ordinary)
    for each in (ordinary, other):
        give(roles.REPOSITORY_READER, each.id.text)
    assert (may(ordinary), may(other)) == (True, True)


def container_group(image: str, **properties: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": 1, "memoryInGB": 1}}
    containers = [{"name": "main", "properties": {"image": image, "resources": resources}}]
    return {"location": "westeurope", "properties": {"osType": "Linux", "containers": containers, **properties}}


def test_an_image_of_docker_hub_meets_its_registry_s_error(calm: InProcessAzure, monkeypatch: pytest.MonkeyPatch) -> None:
    judging_as_if_things_ran(monkeypatch)
    path = f"{new_group(calm)}/providers/Microsoft.ContainerInstance/containerGroups/one"
    calm.fault("weather", name="registry-error")
    refused = calm.put(path, container_group("nginx:1"), GROUPS)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "RegistryErrorResponse")
    other = calm.put(path, container_group("mcr.microsoft.com/x:1"), GROUPS)
    assert other.json()["error"]["code"] == "InaccessibleImage"  # which nobody built


def test_a_group_in_a_subnet_without_a_nat_gateway_reaches_nothing(arm: ArmHarness) -> None:
    subnet = f"{NETWORK}/subnets/one"
    kept(arm, subnet, properties={})
    asked = container_group("mcr.microsoft.com/azuredocs/samples-tf-mnist-demo:gpu", subnetIds=[{"id": subnet}])
    container_group_images.check_access("one", asked, arm.services)
    on(arm, "no-way-out")
    with pytest.raises(ArmError, match="InaccessibleImage") as refused:
        container_group_images.check_access("one", asked, arm.services)
    assert "The subnet one has no NAT gateway" in refused.value.details[0].message
    kept(arm, subnet, properties={"natGateway": {"id": "/subscriptions/x"}})
    container_group_images.check_access("one", asked, arm.services)
    assert reach.leads_nowhere([{"id": f"{subnet}-elsewhere"}], arm.services) == ""
