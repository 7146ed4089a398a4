"""`az containerapp`: a job on a GPU profile, as its users make, start and look at it."""

from collections.abc import Iterator

import pytest

from tests.support.azure_cli import AzureCli
from tests.support.embedded import until

pytestmark = pytest.mark.slow
IMAGE = "mcr.microsoft.com/k8se/quickstart-jobs:latest"


@pytest.fixture
def group(az: AzureCli) -> Iterator[str]:
    with az.group("swedencentral") as name:
        yield name


def test_a_job_on_a_t4_is_made_started_and_ends(az: AzureCli, group: str) -> None:
    here = ("--resource-group", group, "--name")
    profiles = ("--enable-workload-profiles", "--logs-destination", "none")
    az.answer("containerapp", "env", "create", *here, "apps", "--location", "swedencentral", *profiles)
    profile = ("--workload-profile-name", "gpu-t4", "--workload-profile-type", "Consumption-GPU-NC8as-T4")
    az.answer("containerapp", "env", "workload-profile", "add", *here, "apps", *profile)
    size = ("--cpu", "8", "--memory", "56Gi", "--workload-profile-name", "gpu-t4")
    trigger = ("--trigger-type", "Manual", "--replica-timeout", "600", "--replica-retry-limit", "0")
    job = az.answer("containerapp", "job", "create", *here, "hello", "--environment", "apps", "--image", IMAGE, *size, *trigger)
    assert job["properties"]["workloadProfileName"] == "gpu-t4"

    execution = az.answer("containerapp", "job", "start", *here, "hello")["name"]

    def ended() -> list[str]:
        found = az.answer("containerapp", "job", "execution", "list", *here, "hello")
        return [each["properties"]["status"] for each in found if each["name"] == execution and each["properties"].get("endTime")]

    assert until(ended, f"{execution} ends") == ["Succeeded"]
    az.answer("containerapp", "job", "delete", *here, "hello", "--yes")
    assert az.answer("containerapp", "job", "list", "--resource-group", group) == []
