"""What an environment for GPU jobs registers with the engine, beyond the inputs that the cases show."""

import pulumi
import pytest

from azure_gpu.container_apps.environment.args import GpuModel, JobEnvironmentWiring
from azure_gpu.container_apps.environment.environment import JobEnvironment
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.wired import Wired
from tests.components.recording import SUBSCRIPTION, declare, readable
from tests.components.settings_of import STACK_ARGS

ENVIRONMENT = "azure-native:app:ManagedEnvironment"
LOGS = "azure-native:monitor:DiagnosticSetting"
ARGS: JobEnvironmentWiring = {
    "stack": STACK_ARGS,
    "resource_group_name": "group",
    "create": True,
    "location": "eastus",
    "gpus": [GpuModel.T4],
}
EXISTING = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/company/providers/Microsoft.App/managedEnvironments/shared"


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_two_environments_in_one_program_share_no_urn_and_no_name(preview: bool) -> None:
    def build() -> None:
        foundation = Foundation("foundation", Wired({"stack": STACK_ARGS, "log_workspace": {"create": True}}))
        JobEnvironment("one", Wired({**ARGS, **foundation.dependencies}))
        JobEnvironment("two", Wired({**ARGS, **foundation.dependencies, "location": "westeurope"}))

    recorded = declare(build, preview=preview)
    urns = [registration.urn for registration in recorded.registrations]
    assert len(urns) == len(set(urns))
    assert len({registration.inputs["environmentName"] for registration in recorded.of_type(ENVIRONMENT)}) == 2
    assert len(recorded.of_type(LOGS)) == 2


def test_logs_reach_the_workspace_without_its_key() -> None:
    def build() -> None:
        foundation = Foundation("foundation", Wired({"stack": STACK_ARGS, "log_workspace": {"create": True}}))
        JobEnvironment("one", Wired({**ARGS, **foundation.dependencies}))

    recorded = declare(build)
    environment, logs = recorded.one(ENVIRONMENT), recorded.one(LOGS)
    assert environment.inputs["appLogsConfiguration"] == {"destination": "azure-monitor"}
    assert logs.inputs["workspaceId"] == "/id-of/foundation-logs"
    assert environment.urn in logs.dependencies
    assert {token for token, _ in recorded.lookups} <= {"azure-native:app:getManagedEnvironment"}
    assert "secret" not in readable(environment.wire).lower()


TYPES = {"Consumption": "Consumption", "gpu-a100": "Consumption-GPU-NC24-A100", "gpu-t4": "Consumption-GPU-NC8as-T4"}


@pytest.mark.parametrize(
    ("used", "there", "declared"),
    [
        ([GpuModel.T4], [], ["Consumption", "gpu-t4"]),  # East US has both
        ([GpuModel.T4, GpuModel.A100, GpuModel.T4], [], ["Consumption", "gpu-a100", "gpu-t4"]),
        ([GpuModel.T4], ["Consumption", "gpu-a100", "gpu-t4"], ["Consumption", "gpu-a100", "gpu-t4"]),
        ([GpuModel.A100], ["Consumption", "gpu-t4"], ["Consumption", "gpu-a100", "gpu-t4"]),  # a job that changed its GPU
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
    assert [profile["name"] for profile in recorded.one(ENVIRONMENT).inputs["workloadProfiles"]] == ["Consumption", "gpu-t4"]
    [warning] = recorded.log
    assert "whether this Container Apps environment exists can't be read" in warning
    assert "AuthorizationFailed" in warning


def test_a_gpu_that_the_region_lacks_is_refused() -> None:
    args: JobEnvironmentWiring = {**ARGS, "location": "westeurope", "gpus": [GpuModel.A100]}
    with pytest.raises(Refused, match="has no Consumption-GPU-NC24-A100 in this region"):
        declare(lambda: JobEnvironment("one", Wired(args)))


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_an_existing_environment_is_read_and_nothing_of_it_is_declared(preview: bool) -> None:
    made: list[JobEnvironment] = []
    args: JobEnvironmentWiring = {**ARGS, "existing": EXISTING}
    del args["create"]
    answer = {"location": "East US", "workloadProfiles": [{"name": "ours", "workloadProfileType": "Consumption-GPU-NC8AS-T4"}]}
    lookups = {"azure-native:app:getManagedEnvironment": answer}
    recorded = declare(lambda: made.append(JobEnvironment("one", Wired(args))), preview=preview, lookups=lookups)
    assert [one.type for one in recorded.registrations] == ["azuregpu:index:JobEnvironment"]
    assert recorded.lookups == [
        ("azure-native:app:getManagedEnvironment", {"resourceGroupName": "company", "environmentName": "shared"})
    ]
    assert made[0].dependencies["runs_in"]["profiles"] == {"T4": "ours"}
    [outputs] = recorded.outputs.values()
    assert outputs == {"environment_id": EXISTING, "environment_name": "shared"}


def test_an_environment_without_workload_profiles_is_refused_because_it_can_have_no_gpu() -> None:
    args: JobEnvironmentWiring = {**ARGS, "existing": EXISTING}
    del args["create"]
    lookups = {"azure-native:app:getManagedEnvironment": {"location": "eastus"}}
    with pytest.raises(Refused, match="made without workload profiles"):
        declare(lambda: JobEnvironment("one", Wired(args)), lookups=lookups)
