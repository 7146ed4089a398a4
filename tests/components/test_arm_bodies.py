"""What the components declare, as ARM requests, against Microsoft's own types: the real provider would send what ARM takes."""

from typing import Any

import pytest

from components.container_group import ContainerGroup
from components.foundation import Foundation
from formats import azure_types
from formats.azure_types import AzureType
from localazure.shapes import default_api_version, to_arm
from tests.components.recording import Registration, declare
from tests.components.settings_of import STACK_ARGS
from tests.components.test_foundation import EVERYTHING
from tests.oracle.arm_types import FOLDER, MISSING_REASON, arm_problems

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=MISSING_REASON)
GROUP: dict[str, Any] = {
    "command": ["python", "-c", "print(1)"],
    "environment": {"A": "1"},
    "secret_environment": {"B": "2"},
    "gpu": {"count": 1, "sku": "V100"},
    "as_of": "2019-06-01",
    "expires_after": "2019-06-30",
    "tags": {"cost": "42"},
}


@pytest.fixture(scope="module")
def declared() -> list[Registration]:
    """Every resource that the components can declare, with everything that it can hold."""

    def build() -> None:
        foundation = Foundation("foundation", EVERYTHING)
        stands_on = {"stack": STACK_ARGS, **foundation.surroundings}
        ContainerGroup("train", {**GROUP, **stands_on, "workload": "mnist"})
        ContainerGroup("in-a-network", {**stands_on, "image": "python:3.11", "subnet_id": "/some/subnet"})

    return declare(build).registrations


@pytest.mark.parametrize("azure_type", azure_types.ALL, ids=lambda azure_type: azure_type.token)
def test_arm_takes_what_is_declared(azure_type: AzureType, declared: list[Registration]) -> None:
    version = default_api_version(azure_type)
    of_type = [registration for registration in declared if registration.type == azure_type.token]
    assert of_type, "the components declare none of these"
    for registration in of_type:
        assert arm_problems(azure_type.arm_type, version, to_arm(azure_type, registration.inputs)) == []
