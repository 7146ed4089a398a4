"""What a GPU job registers with the engine, beyond the inputs that the cases show."""

import re

import pytest

from azure_gpu.container_apps.environment.args import GpuModel
from azure_gpu.container_apps.job import args as job_args
from azure_gpu.container_apps.job.args import EventArgs, ServerlessGpuJobSettings, ServerlessGpuJobWiring
from azure_gpu.container_apps.job.job import ServerlessGpuJob
from azure_gpu.container_apps.job.spec import resolve
from azure_gpu.shared.context import resolve_stack
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.validation import choices, key_docstrings
from azure_gpu.shared.wired import Wired
from tests.components.recording import PROJECT, STACK, declare
from tests.components.settings_of import STACK_ARGS

JOB = "azure-native:app:Job"
ARGS: ServerlessGpuJobWiring = {
    "stack": {**STACK_ARGS, "location": "eastus"},
    "resource_group_name": "group",
    "runs_in": {"id": "/some/environment", "profiles": {"T4": "gpu-t4"}, "existing": False},
    "expires_after": "2026-12-31",
}


@pytest.mark.parametrize("variable", ["TOKEN", "_", "a" * 300, "Ä", "HF_TOKEN"])
def test_the_name_of_a_secret_is_one_that_the_service_takes(variable: str) -> None:
    args: ServerlessGpuJobWiring = {**ARGS, "secret_environment": {variable: "x", variable.swapcase() + "2": "y"}}
    secrets = declare(lambda: ServerlessGpuJob("one", Wired(args))).one(JOB).inputs["configuration"]["secrets"]
    assert len({secret["name"] for secret in secrets}) == 2
    assert all(re.fullmatch(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", secret["name"]) for secret in secrets)


def test_all_that_a_job_misses_in_its_surroundings_is_said_at_once() -> None:
    args: ServerlessGpuJobWiring = {
        **ARGS,
        "gpu": "A100",
        "workload": "mnist",
        "event": {"rules": {"queue": {"type": "azure-queue", "use_identity": True}}},
    }
    with pytest.raises(Refused) as refused:
        declare(lambda: ServerlessGpuJob("one", Wired(args)))
    message = str(refused.value)
    assert message.startswith("3 problems in the configuration, nothing was created:")
    assert "jobs.one.workload: no registry builds this workload; given: 'mnist'" in message
    assert "jobs.one.gpu: the environment has no workload profile with this GPU; given: 'A100'; allowed: T4" in message
    assert "jobs.one.event.rules.queue.use_identity: `use_identity` requires the stack's identity" in message


def test_the_defaults_in_the_docstrings_are_those_that_a_job_gets() -> None:
    context, _ = resolve_stack({**STACK_ARGS, "location": "eastus"}, PROJECT, STACK)
    said: ServerlessGpuJobSettings = {"expires_after": "2026-12-31"}
    spec, _ = resolve("one", said, context)
    of_events = {
        "polling_interval_seconds": job_args.DEFAULT_POLLING_SECONDS,
        "min_executions": job_args.DEFAULT_FEWEST_EXECUTIONS,
        "max_executions": job_args.DEFAULT_MOST_EXECUTIONS,
    }
    of_job = {
        "gpu": spec.gpu,
        "retries": spec.retries,
        "parallelism": spec.parallelism,
        "timeout_minutes": spec.timeout_seconds // 60,
    }
    for wanted, defaults in ((EventArgs, of_events), (ServerlessGpuJobSettings, of_job)):
        told = key_docstrings(wanted)
        assert [key for key, default in defaults.items() if not told[key].endswith(f"Default: {default}.")] == []
    for gpu in choices(GpuModel):
        machine, _ = resolve("one", {**said, "gpu": gpu}, context)
        told = key_docstrings(ServerlessGpuJobSettings)
        assert f"{machine.cpu:g} with a" in told["cpu"]
        assert f"{machine.memory_in_gib:g} with a" in told["memory_in_gib"]
