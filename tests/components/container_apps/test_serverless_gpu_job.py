"""What a GPU job registers with the engine, beyond the inputs that the cases show."""

import re

import pytest

from azure_gpu.catalog.problems import Severity
from azure_gpu.container_apps.environment.args import GpuModel
from azure_gpu.container_apps.environment.environment import JobEnvironment
from azure_gpu.container_apps.job.args import EventArgs, EventRuleArgs, ServerlessGpuJobSettings, ServerlessGpuJobWiring
from azure_gpu.container_apps.job.job import ServerlessGpuJob
from azure_gpu.container_apps.job.resolve import resolve
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.shared.context import OfStack, resolve_stack
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.validation import key_docstrings
from azure_gpu.shared.wired import Wired
from azure_gpu.shared.workloads import Workload
from tests.components.recording import PROJECT, STACK, declare, readable
from tests.components.settings_of import STACK_ARGS

JOB = "azure-native:app:Job"
ARGS: ServerlessGpuJobWiring = {
    "stack": {**STACK_ARGS, "location": "eastus"},
    "resource_group_name": "group",
    "runs_in": {"id": "/some/environment", "profiles": {"T4": "gpu-t4"}, "existing": False},
    "expires_after": "2026-12-31",
}


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_two_jobs_in_one_program_share_no_urn_and_no_name(preview: bool) -> None:
    def build() -> None:
        ServerlessGpuJob("one", Wired(ARGS))
        ServerlessGpuJob("two", Wired(ARGS))

    recorded = declare(build, preview=preview)
    urns = [registration.urn for registration in recorded.registrations]
    assert len(urns) == len(set(urns)) == 4
    assert len({registration.inputs["jobName"] for registration in recorded.of_type(JOB)}) == 2


def test_the_engine_is_told_what_the_service_cannot_change_in_place() -> None:
    registration = declare(lambda: ServerlessGpuJob("one", Wired(ARGS))).one(JOB)
    assert set(registration.replace_on_changes) == {"configuration.triggerType", "environmentId", "location"}
    assert registration.delete_before_replace


def test_the_cost_is_that_of_all_replicas_while_they_run_and_none_where_no_price_is_known() -> None:
    # East US on 2026-08-01, USD a second: a T4 0.000073, a vCPU 0.000024, a GiB 0.000003.
    whole = (0.000073 + 8 * 0.000024 + 56 * 0.000003) * 3600
    small = (0.000073 + 2 * 0.000024 + 4 * 0.000003) * 3600
    jobs: list[ServerlessGpuJob] = []

    def build() -> None:
        jobs.append(ServerlessGpuJob("whole", Wired(ARGS)))
        jobs.append(ServerlessGpuJob("small", Wired({**ARGS, "cpu": 2, "memory_in_gib": 4, "parallelism": 3})))
        jobs.append(ServerlessGpuJob("unknown", Wired({**ARGS, "location": "westeurope"})))

    recorded = declare(build)
    outputs = {urn.rsplit("::", 1)[1]: outputs for urn, outputs in recorded.outputs.items()}
    assert outputs["whole"]["hourly_cost"] == pytest.approx(whole)
    assert outputs["small"]["hourly_cost"] == pytest.approx(3 * small)
    assert jobs[2].hourly_cost is None
    ids = {"job_id": "/id-of/unknown-job", "job_name": "azure-gpu-vision-test-unknown"}
    assert outputs["unknown"] == {**ids, "expires_at": "2027-01-01T00:00:00Z"}


def test_secrets_are_secret_all_the_way_and_variables_refer_to_them_by_name() -> None:
    args: ServerlessGpuJobWiring = {
        **ARGS,
        "secret_environment": {"TOKEN": "hunter2"},
        "event": {"rules": {"queue": {"type": "azure-queue", "secrets": {"connection": "AccountKey=abc"}}}},
    }
    recorded = declare(lambda: ServerlessGpuJob("one", Wired(args)))
    job = recorded.one(JOB)
    [variable] = job.inputs["template"]["containers"][0]["env"]
    secrets = {each["name"]: each["value"] for each in job.inputs["configuration"]["secrets"]}
    assert secrets[variable["secretRef"]] == "hunter2"
    [rule] = job.inputs["configuration"]["eventTriggerConfig"]["scale"]["rules"]
    assert secrets[rule["auth"][0]["secretRef"]] == "AccountKey=abc"
    shown = readable([job.wire, *recorded.outputs.values()])
    assert "hunter2" not in shown
    assert "AccountKey=abc" not in shown


def test_a_rule_called_env_and_a_variable_keep_a_secret_each() -> None:
    args: ServerlessGpuJobWiring = {
        **ARGS,
        "secret_environment": {"connection": "of the variable"},
        "event": {"rules": {"env": {"type": "azure-queue", "secrets": {"connection": "of the rule"}}}},
    }
    configuration = declare(lambda: ServerlessGpuJob("one", Wired(args))).one(JOB).inputs["configuration"]
    assert sorted(secret["value"] for secret in configuration["secrets"]) == ["of the rule", "of the variable"]


@pytest.mark.parametrize("variable", ["TOKEN", "_", "a" * 300, "Ä", "HF_TOKEN"])
def test_the_name_of_a_secret_is_one_that_the_service_takes(variable: str) -> None:
    args: ServerlessGpuJobWiring = {**ARGS, "secret_environment": {variable: "x", variable.swapcase() + "2": "y"}}
    secrets = declare(lambda: ServerlessGpuJob("one", Wired(args))).one(JOB).inputs["configuration"]["secrets"]
    assert len({secret["name"] for secret in secrets}) == 2
    assert all(re.fullmatch(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", secret["name"]) for secret in secrets)


def test_variables_have_one_order_however_they_are_written() -> None:
    def variables(environment: dict[str, str]) -> object:
        registration = declare(lambda: ServerlessGpuJob("one", Wired({**ARGS, "environment": environment}))).one(JOB)
        return registration.inputs["template"]["containers"][0]["env"]

    assert variables({"B": "2", "A": "1"}) == variables({"A": "1", "B": "2"})


def test_all_that_a_job_misses_in_its_surroundings_is_said_at_once() -> None:
    args: ServerlessGpuJobWiring = {
        **ARGS,
        "gpu": GpuModel.A100,
        "workload": Workload.MNIST,
        "event": {"rules": {"queue": {"type": "azure-queue", "use_identity": True}}},
    }
    with pytest.raises(Refused) as refused:
        declare(lambda: ServerlessGpuJob("one", Wired(args)))
    message = str(refused.value)
    assert message.startswith("3 problems in the configuration, nothing was created:")
    assert "jobs.one.workload: no registry builds this workload; given: 'mnist'" in message
    assert "jobs.one.gpu: the environment has no workload profile with this GPU; given: 'A100'; allowed: T4" in message
    assert "jobs.one.event.rules.queue.use_identity: `use_identity` requires the stack's identity" in message


def test_a_workload_waits_for_its_build_and_for_the_right_to_pull_and_runs_in_the_environment() -> None:
    def build() -> None:
        foundation = Foundation(
            "foundation",
            Wired(
                {
                    "stack": STACK_ARGS,
                    "identity": {"create": True},
                    "registry": {"create": True},
                    "workloads": [Workload.MNIST],
                    "image_source": "https://github.com/someone/fork.git#0123abc",
                }
            ),
        )
        stands_on: OfStack = {"stack": STACK_ARGS, **foundation.dependencies}
        runs_in = JobEnvironment("jobs", Wired({**stands_on, "create": True, "location": "westeurope", "gpus": [GpuModel.T4]}))
        job: ServerlessGpuJobSettings = {"workload": Workload.MNIST, "expires_after": "2026-12-31"}
        ServerlessGpuJob("train", Wired({**stands_on, **runs_in.dependencies, **job}))

    recorded = declare(build)
    deployment = recorded.one("azure-native:resources:Deployment")
    environment = recorded.one("azure-native:app:ManagedEnvironment")
    job = recorded.one(JOB)
    assert {deployment.urn, environment.urn, recorded.one("azure-native:authorization:RoleAssignment").urn} <= set(
        job.dependencies
    )
    [task_run] = deployment.inputs["properties"]["template"]["resources"]
    [image] = task_run["properties"]["runRequest"]["imageNames"]
    assert job.inputs["template"]["containers"][0]["image"].endswith(f".azurecr.io/{image}")
    [registry] = job.inputs["configuration"]["registries"]
    assert registry["identity"] == "/id-of/foundation-identity"
    assert registry["server"].endswith(".azurecr.io")


def test_an_image_older_than_the_gpu_is_warned_of_and_one_that_it_runs_is_not() -> None:
    context, _ = resolve_stack({**STACK_ARGS, "location": "eastus"}, PROJECT, STACK)
    # CUDA's release notes: Turing from 10.0 on, Ampere from 11.0 on.
    expected = {("8.0", "T4"): 1, ("10.0", "T4"): 0, ("10.2", "A100"): 1, ("12.2.0", "A100"): 0}
    for (cuda, gpu), number in expected.items():
        image = f"nvidia/cuda:{cuda}-base-ubuntu18.04"
        _, problems = resolve("one", {"image": image, "gpu": GpuModel(gpu), "expires_after": "2026-12-31"}, context)
        assert [(each.path, each.severity) for each in problems] == [("jobs.one.image", Severity.WARNING)] * number, image


def test_the_defaults_in_the_docstrings_are_those_that_a_job_gets() -> None:
    context, _ = resolve_stack({**STACK_ARGS, "location": "eastus"}, PROJECT, STACK)
    rules = {"queue": EventRuleArgs(type="azure-queue")}
    said: ServerlessGpuJobSettings = {"event": {"rules": rules}, "expires_after": "2026-12-31"}
    spec, _ = resolve("one", said, context)
    assert spec.events is not None
    of_events = {key: getattr(spec.events, key) for key in EventArgs.__optional_keys__}
    of_job = {
        "gpu": spec.gpu,
        "retries": spec.retries,
        "parallelism": spec.parallelism,
        "timeout_minutes": spec.timeout_seconds // 60,
    }
    for wanted, defaults in ((EventArgs, of_events), (ServerlessGpuJobSettings, of_job)):
        told = key_docstrings(wanted)
        assert [key for key, default in defaults.items() if not told[key].endswith(f"Default: {default}.")] == []
    for gpu in GpuModel:
        machine, _ = resolve("one", {**said, "gpu": gpu}, context)
        told = key_docstrings(ServerlessGpuJobSettings)
        assert f"{machine.cpu:g} with a" in told["cpu"]
        assert f"{machine.memory_in_gib:g} with a" in told["memory_in_gib"]
