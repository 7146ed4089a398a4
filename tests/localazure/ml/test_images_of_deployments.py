"""Which image a deployment gets, and who has to be allowed to pull it, before anything is started."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.catalog.services.machine_learning.compute import KUBERNETES
from localazure.arm.errors import ArmError
from localazure.arm.store import Resource
from localazure.kinds.registry_runs import LOGIN_SUFFIX
from localazure.ml.service import OnlineEndpoints
from localazure.services import Services
from tests.localazure.parts import arm_id, services_in

GROUP = "/subscriptions/0/resourceGroups/rg/providers"
WORKSPACE = f"{GROUP}/Microsoft.MachineLearningServices/workspaces/ws"
ENDPOINT = f"{WORKSPACE}/onlineEndpoints/digits"
ENVIRONMENT = f"{WORKSPACE}/environments/own/versions/1"
REGISTRY = "images"
OURS = f"{REGISTRY}{LOGIN_SUFFIX}/tiny:1"


class NoImages:
    def find(self, text: str) -> None:
        assert text == OURS


@pytest.fixture
def services(tmp_path: Path) -> Services:
    found = services_in(tmp_path, images=NoImages())
    for id_ in (WORKSPACE, ENDPOINT, f"{GROUP}/Microsoft.ContainerRegistry/registries/{REGISTRY}"):
        found.store.put(Resource(id=arm_id(id_), body={"location": "westeurope", "properties": {}}))
    return found


def refusal(services: Services, compute: str, **environment: Any) -> tuple[str, str]:
    """Code and message of what a deployment fails with."""
    properties = {"endpointComputeType": compute, "environmentId": ENVIRONMENT, "instanceType": "Standard_NC4as_T4_v3"}
    services.store.put(Resource(id=arm_id(ENVIRONMENT), body={"properties": environment}))
    deployment = Resource(id=arm_id(f"{ENDPOINT}/deployments/blue"), body={"properties": properties})
    nothing: Any = None
    endpoints = OnlineEndpoints(services, nothing, nothing, services.settings.state / "ml")
    with pytest.raises(ArmError) as raised:
        asyncio.run(endpoints.deploy(deployment))
    return raised.value.code, raised.value.message


def test_the_endpoint_pulls_for_its_machines_and_a_clusters_nodes_for_themselves(services: Services) -> None:
    code, message = refusal(services, "Managed", image=OURS)
    assert (code, f"It needs the role AcrPull on the registry {REGISTRY}" in message) == ("BadArgument", True)
    code, message = refusal(services, KUBERNETES, image=OURS)
    assert (code, f"The registry {REGISTRY} has no image tiny:1" in message) == ("BadArgument", True)


def test_an_environment_has_an_image_or_a_conda_file(services: Services) -> None:
    assert "the tag ':1' isn't" in refusal(services, "Managed", image="no/image::1")[1]
    assert "reaches no registry example.org" in refusal(services, "Managed", image="example.org/a:1")[1]
    assert refusal(services, "Managed", condaFile="name: x")[0] == "ImageBuildFailure"
