"""What an environment for GPU jobs registers with the engine, beyond the inputs that the cases show."""

import pulumi
import pytest

from azure_gpu.container_apps.environment.args import GpuModel, JobEnvironmentWiring
from azure_gpu.container_apps.environment.environment import JobEnvironment
from azure_gpu.shared.wired import Wired
from tests.components.recording import declare
from tests.components.settings_of import STACK_ARGS

ENVIRONMENT = "azure-native:app:ManagedEnvironment"
ARGS: JobEnvironmentWiring = {
    "stack": STACK_ARGS,
    "resource_group_name": "group",
    "create": True,
    "location": "eastus",
    "gpus": ["T4"],
}


TYPES = {"Consumption": "Consumption", "gpu-a100": "Consumption-GPU-NC24-A100", "gpu-t4": "Consumption-GPU-NC8as-T4"}


@pytest.mark.parametrize(
    ("used", "there", "declared"),
    [
        (["T4"], [], ["Consumption", "gpu-t4"]),  # East US has both
        (["T4", "A100", "T4"], [], ["Consumption", "gpu-a100", "gpu-t4"]),
        (["T4"], ["Consumption", "gpu-a100", "gpu-t4"], ["Consumption", "gpu-a100", "gpu-t4"]),
        (["A100"], ["Consumption", "gpu-t4"], ["Consumption", "gpu-a100", "gpu-t4"]),  # a job that changed its GPU
        (None, [], ["Consumption", "gpu-a100", "gpu-t4"]),  # its jobs aren't known to a program's environment
    ],
)
def test_an_environment_has_the_gpus_of_its_jobs_and_those_that_it_has_already(
    used: list[GpuModel] | None, there: list[str], declared: list[str]
) -> None:
    args: JobEnvironmentWiring = {**ARGS, "gpus": used or []}
    if used is None:
        del args["gpus"]
    answer = {"location": "eastus", "workloadProfiles": [{"name": name, "workloadProfileType": TYPES[name]} for name in there]}
    lookups = {"azure-native:app:getManagedEnvironment": answer} if there else {}
    made: list[JobEnvironment] = []
    recorded = declare(lambda: made.append(JobEnvironment("one", Wired(args))), lookups=lookups)
    profiles = recorded.one(ENVIRONMENT).inputs["workloadProfiles"]
    assert [(profile["name"], profile["workloadProfileType"]) for profile in profiles] == [
        (name, TYPES[name]) for name in declared
    ]
    assert not [key for profile in profiles for key in profile if key.endswith("Count")]
    assert [f"gpu-{gpu.lower()}" for gpu in made[0].dependencies["runs_in"]["profiles"]] == declared[1:]


def test_an_environment_whose_group_is_not_known_yet_is_not_read() -> None:
    args: JobEnvironmentWiring = {**ARGS, "resource_group_name": pulumi.Output.from_input("group")}
    recorded = declare(lambda: JobEnvironment("one", Wired(args)), lookups={})
    assert recorded.lookups == []


def test_an_environment_that_may_not_be_read_is_declared_with_a_warning() -> None:
    lookups = {"azure-native:app:getManagedEnvironment": "Status=403 Code=AuthorizationFailed"}
    recorded = declare(lambda: JobEnvironment("one", Wired(ARGS, component="JobEnvironment")), lookups=lookups)
    [warning] = recorded.log
    assert "whether this Container Apps environment exists can't be read" in warning
    assert "AuthorizationFailed" in warning
