"""An endpoint whose image has its model in it, on the real engine: one up, without an upload, and it tells digits."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from azure_gpu.shared.installation import WORKLOADS
from tests.support.embedded import ServedAzure
from tests.support.stack import ProgramStack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SAMPLES = [WORKLOADS / "digits" / "samples" / f"{digit}.png" for digit in range(10)]
API_VERSION = "2025-12-01"


def with_endpoint(azure: ServedAzure, workload: str) -> dict[str, Any]:
    """A stack with a workspace, and an endpoint with one deployment that names no model."""
    deployment = {"environment": "server", "instance_type": "Standard_NC4as_T4_v3"}
    return {
        "team": "tests",
        "location": "eastus",
        "as_of": "2026-11-21",
        "foundation": dict.fromkeys(["resource_group", "identity", "registry", "log_workspace", "storage"], "create"),
        "image_source": f"{azure.url}/checkout.git#HEAD",
        "ml_workspace": {"environments": {"server": {"workload": workload}}},
        "ml_endpoints": {"digits": {"auth": "key", "deployments": {"blue": deployment}, "expires_after": "2026-11-30"}},
    }


@pytest.fixture(scope="module")
def stack(azure: ServedAzure, engine_bin: Path) -> Iterator[ProgramStack]:
    made = ProgramStack(azure, "digits", with_endpoint(azure, "scoring"), engine_bin=engine_bin)
    made.create()
    yield made
    made.end()


def test_an_image_without_a_model_and_no_model_configured_is_refused_before_anything_is_created(stack: ProgramStack) -> None:
    done = stack.operations("up")
    assert done.returncode != 0
    assert "ml_endpoints.digits.deployments.blue.model: `model` is required" in done.stdout + done.stderr
    assert "an environment of {workload: digits}" in done.stdout + done.stderr
    created = [each["type"] for each in stack.exported().get("resources", []) if not each["type"].startswith("pulumi:")]
    assert created == []


def test_one_up_brings_an_endpoint_that_tells_the_ten_digits_that_training_never_saw(
    azure: ServedAzure, stack: ProgramStack
) -> None:
    stack.configure(with_endpoint(azure, "digits"))
    done = stack.operations("up")
    assert done.returncode == 0, done.stdout + done.stderr
    outputs = stack.outputs()
    deployed = azure.get(f"{outputs['endpoints']['digits']}/deployments/blue", API_VERSION).json()["properties"]
    assert (deployed.get("model"), deployed["provisioningState"]) == (None, "Succeeded")
    key = azure.post(f"{outputs['endpoints']['digits']}/listKeys", API_VERSION).json()["primaryKey"]
    with azure.http(headers={"Authorization": f"Bearer {key}", "Content-Type": "image/png"}) as client:
        answers = [client.post(outputs["scoring_uris"]["digits"], content=file.read_bytes()) for file in SAMPLES]
    assert [told(answer) for answer in answers] == list(range(10))


def told(answer: httpx.Response) -> int:
    assert answer.status_code == 200, answer.text
    [scores] = answer.json()["scores"]
    return scores.index(max(scores))
