"""A GPU job's life on the real engine: up, nothing left to change, edits with exactly the operations that they need, down."""

from typing import Any

import pytest

from tests.stack.configurations import with_sample_job
from tests.stack.conftest import MakeStack
from tests.support.embedded import ServedAzure
from tests.support.stack import ProgramStack, Step

pytestmark = pytest.mark.slow
JOB = "azure-native:app:Job"
ENVIRONMENT = "azure-native:app:ManagedEnvironment"
API_VERSION = "2026-07-01"


def job_of(azure: ServedAzure, stack: ProgramStack) -> dict[str, Any]:
    return azure.get(stack.outputs()["jobs"]["adder"], API_VERSION).json()


def test_another_gpu_comes_to_the_environment_and_the_first_one_stays(azure: ServedAzure, shared: ProgramStack) -> None:
    stack = shared
    stack.become(with_sample_job())
    stack.configure(with_sample_job(gpu="A100"))
    assert set(stack.changes()) == {Step("update", ENVIRONMENT, "eastus-environment"), Step("update", JOB, "adder-job")}
    job = job_of(azure, stack)["properties"]
    assert job["workloadProfileName"] == "gpu-a100"
    profiles = azure.get(job["environmentId"], API_VERSION).json()["properties"]["workloadProfiles"]
    assert [each["name"] for each in profiles] == ["Consumption", "gpu-a100", "gpu-t4"]
    stack.configure(with_sample_job())
    assert stack.steps() == [Step("update", JOB, "adder-job")]


def test_an_existing_environment_is_used_and_neither_changed_nor_deleted(
    azure: ServedAzure, make_stack: MakeStack, shared: ProgramStack
) -> None:
    if not shared.there:
        shared.become(with_sample_job())
    environment_id = job_of(azure, shared)["properties"]["environmentId"]
    before = azure.get(environment_id, API_VERSION).json()

    stack = make_stack(azure, {**with_sample_job(), "job_environment": {"existing": environment_id}})
    stack.create()
    stack.update()
    assert job_of(azure, stack)["properties"]["environmentId"].lower() == environment_id.lower()
    assert ENVIRONMENT not in {each["type"] for each in stack.exported()["resources"]}
    assert stack.down().returncode == 0
    assert azure.get(environment_id, API_VERSION).json() == before


def test_a_secret_of_a_job_is_nowhere_in_plain_text(azure: ServedAzure, shared: ProgramStack) -> None:
    secret = "hunter2-of-a-job"
    stack = shared
    stack.become(with_sample_job(secret_environment={"TOKEN": secret}))
    preview = stack.pulumi("preview", "--diff", "--expect-no-changes")
    assert preview.returncode == 0, preview.stdout + preview.stderr
    shown = {
        "state": str(stack.exported()),
        "preview": preview.stdout + preview.stderr,
        "answer": str(job_of(azure, stack)),
        "server's log": (azure.state / "logs" / "azure.log").read_text(),
    }
    assert [what for what, text in shown.items() if secret in text] == []


def test_another_region_has_another_environment_which_comes_before_the_job_while_the_old_one_goes_after_it(
    azure: ServedAzure, shared: ProgramStack
) -> None:
    """What else of a job is changed in place, and what replaces it, is in docs/replacements.md."""
    stack = shared
    if not stack.there:
        stack.become(with_sample_job())
    stack.configure(with_sample_job(location="westus3"))
    stack.update()
    job = job_of(azure, stack)
    environment = azure.get(job["properties"]["environmentId"], API_VERSION).json()
    assert {each["location"].replace(" ", "").lower() for each in (job, environment)} == {"westus3"}
    kept = [each["urn"] for each in stack.exported()["resources"] if each["type"] == ENVIRONMENT]
    assert [urn.rsplit("::", 1)[1] for urn in kept] == ["westus3-environment"]
    assert stack.pulumi("preview", "--expect-no-changes").returncode == 0
