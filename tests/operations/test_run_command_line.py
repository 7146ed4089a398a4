"""`run` where it is interrupted or fails by itself. What its command line takes and refuses is in `calls/run.yaml`."""

from functools import partial

import pytest

from azure_gpu.shared.registry_build import BuildFailedError, cause_of
from azure_gpu_operations.__main__ import main
from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.job_bodies import Execution, Job, job_of
from azure_gpu_operations.run import options as run_options
from azure_gpu_operations.run.driving import drive
from azure_gpu_operations.run.on_job import run as job_run
from azure_gpu_operations.run.on_job.request import JobRequest
from azure_gpu_operations.run.protocol import Outcome, RunError, on_screen
from azure_gpu_operations.stack_view import StackView
from tests.support.scripted_runs import ScriptedRun, output_to, plan_of

VIEW = StackView("dev", Connection("s"), jobs={"train": "/t"}, registry="/r")


def test_ctrl_c_ends_with_130_also_while_the_stack_is_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def view(stack: object) -> StackView:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_options, "view_of", view)
    assert main(["run", "--on", "job", "--stack", "dev"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_ctrl_c_while_the_service_starts_it_says_that_something_may_run(monkeypatch: pytest.MonkeyPatch) -> None:
    class Starting:
        def __init__(self, arm: object) -> None: ...

        def get(self, job_id: str) -> Job:
            return job_of({"id": job_id, "name": "trainer"})

        def profile_type(self, job: Job) -> str:
            return ""

        def start(self, job: Job, template: object) -> str:
            raise KeyboardInterrupt

    class Closed:
        def __init__(self, connection: Connection) -> None: ...

        def close(self) -> None: ...

    monkeypatch.setattr(job_run, "Jobs", Starting)
    monkeypatch.setattr(job_run, "Arm", Closed)
    told: list[str] = []
    assert drive(partial(job_run.plan, VIEW, "train", JobRequest()), output_to(told), "dev").code == 130
    assert (
        "an execution of the job trainer may still be running and billed; see: python -m operations running --stack dev"
        in told[-1]
    )


@pytest.mark.parametrize("error", [BuildFailedError("no image"), RunError("gone"), AzureError("Forbidden")])
def test_a_run_that_fails_by_itself_ends_with_125(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(run_options, "view_of", lambda stack: VIEW)
    monkeypatch.setattr(job_run, "plan", lambda *_: plan_of(ScriptedRun(raises={"follow": error}))(on_screen()))
    assert main(["run", "--on", "job", "--stack", "dev"]) == 125
    assert capsys.readouterr().err == f"error: {error}\n"


@pytest.mark.parametrize(
    ("execution", "outcome"),
    [
        (Execution("e", "Succeeded"), Outcome(0, "Succeeded, exit code 0")),
        (Execution("e", "Failed"), Outcome(1, "Failed, no exit code reported")),
        (Execution("e", "Stopped"), Outcome(125, "stopped from outside")),
    ],
)
def test_each_end_has_its_exit_code_and_its_sentence(execution: Execution, outcome: Outcome) -> None:
    assert job_run.outcome_of(execution) == outcome


@pytest.mark.parametrize(
    "line",
    [
        "ERROR: No matching distribution found for nosuchpackage==1.0",
        "ERROR: Could not find a version that satisfies the requirement nosuchpackage",
        "No solution found when resolving dependencies:",
        "ERROR: ResolutionImpossible: for help visit https://pip.pypa.io/",
    ],
)
def test_requirements_that_can_not_be_had_are_told_from_other_failures(line: str) -> None:
    assert cause_of(["step 1", line, "exit 1"]) == "the requirements can't be installed; correct the requirements file"
    assert cause_of(["step 1", "COPY failed: no such file"]) == ""
    closed = "denied: client with IP '10.0.0.4' is not allowed access. Refer https://aka.ms/acr/firewall to grant access."
    assert cause_of([closed]).startswith("the registry is closed to public networks")


def test_a_manual_job_has_credentials_for_the_servers_that_it_names() -> None:
    registries = [{"server": "A.azurecr.io"}]
    job = job_of({"id": "/t", "name": "t", "properties": {"configuration": {"registries": registries, "triggerType": "Manual"}}})
    assert job.registry_servers == {"a.azurecr.io"}
    assert job.is_manual
