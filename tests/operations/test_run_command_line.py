"""The command line of `run`: all problems at once, nothing started, and what stands behind `--` left alone."""

import subprocess
import sys
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from azure_gpu_operations.__main__ import main
from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.jobs import Execution, Job, job_of
from azure_gpu_operations.run import options as run_options
from azure_gpu_operations.run.command import on_screen
from azure_gpu_operations.run.driving import drive
from azure_gpu_operations.run.errors import RunError
from azure_gpu_operations.run.on_job import run as job_run
from azure_gpu_operations.run.on_job.run import JobRequest
from azure_gpu_operations.run.protocol import Outcome, Output, Run
from azure_gpu_operations.run.registry_build import BuildFailedError, cause_of
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import StackView
from tests.support.embedded import CHECKOUT
from tests.support.scripted_runs import ScriptedRun, output_to, plan_of

VIEW = StackView("dev", Connection("s"), jobs={"train": "/t"}, registry="/r")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What was asked to run, instead of running it; and a stack with one job."""
    asked: list[dict[str, Any]] = []

    def plan(view: StackView, name: str, request: JobRequest, output: Output) -> AbstractContextManager[Run]:
        asked.append({"name": name, "target": request.target, "arguments": list(request.arguments)})
        return plan_of(ScriptedRun(Outcome(7, "failed")))(output)

    monkeypatch.setattr(job_run, "plan", plan)
    monkeypatch.setattr(run_options, "view_of", lambda stack: VIEW)
    return asked


def test_what_stands_behind_two_hyphens_is_given_on_untouched(ran: list[dict[str, Any]]) -> None:
    assert main(["run", "mnist", "--on", "job", "--stack", "dev", "--", "--stack", "x", "--", "-h"]) == 7
    assert ran[0]["arguments"] == ["--stack", "x", "--", "-h"]
    assert ran[0]["target"].context.repository == "mnist"


def test_without_a_target_the_jobs_own_image_gets_the_arguments(ran: list[dict[str, Any]]) -> None:
    assert main(["run", "--on", "job", "--stack", "dev", "--", "--epochs", "3"]) == 7
    assert (ran[0]["target"], ran[0]["arguments"], ran[0]["name"]) == (Target(), ["--epochs", "3"], "train")


def test_problems_of_the_command_line_and_of_the_stack_come_together(
    ran: list[dict[str, Any]], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_options, "view_of", lambda stack: VIEW._replace(jobs={"a": "/a", "b": "/b"}, registry=""))
    script = tmp_path / "train.py"
    script.write_text("print(1)\n")
    assert main(["run", str(script), "--env", "A", "--secret-env", "NOT_SET", "--on", "job", "--stack", "dev"]) == 2
    text = capsys.readouterr().err
    assert "4 problems, nothing was started" in text
    for said in (
        "--env: missing value",
        "not set or empty in the environment",
        "the stack has several jobs",
        "the stack has no registry",
    ):
        assert said in text
    assert ran == []


def test_a_stack_that_is_not_there_is_one_problem_beside_the_others(
    ran: list[dict[str, Any]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def view(stack: object) -> StackView:
        raise EngineError("there is no stack dev")

    monkeypatch.setattr(run_options, "view_of", view)
    assert main(["run", "nmist", "--on", "job", "--stack", "dev"]) == 2
    text = capsys.readouterr().err
    assert "there is no stack dev" in text
    assert "did you mean mnist?" in text


def test_a_secret_can_not_be_left_behind_with_a_detached_run(
    ran: list[dict[str, Any]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "hunter2")
    assert main(["run", "--detach", "--secret-env", "TOKEN", "--on", "job", "--stack", "dev"]) == 2
    text = capsys.readouterr().err
    assert "only while this command is running" in text
    assert "hunter2" not in text


def test_a_detached_run_has_nobody_who_ends_it_in_time(ran: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--detach", "--timeout", "5", "--on", "job", "--stack", "dev"]) == 2
    text = capsys.readouterr().err
    assert "can't be combined with --timeout" in text
    assert "timeout_minutes" in text
    assert ran == []


@pytest.mark.parametrize("words", [[""], ["mnist", "--job", ""], ["x.py", "--requirements", " "], ["x.py", "--base", ""]])
def test_a_word_that_an_unset_variable_left_empty_starts_nothing(
    ran: list[dict[str, Any]], capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(["run", *words, "--on", "job", "--stack", "dev"]) == 2
    assert "must not be empty" in capsys.readouterr().err
    assert ran == []


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


def test_arguments_that_belong_behind_two_hyphens_are_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "mnist", "--on", "job", "--stack", "dev", "--epochs", "3"])
    assert ended.value.code == 2
    assert "--epochs 3; arguments of the script go after --" in capsys.readouterr().err


def test_there_are_seven_places_to_run_and_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "mnist", "--on", "aci", "--stack", "dev"])
    assert ended.value.code == 2
    refused = capsys.readouterr().err
    assert "invalid choice: 'aci' (choose from 'local', 'job', 'batch', 'aks', 'edge', 'vm', 'cluster')" in refused


def test_options_of_clusters_are_refused_elsewhere_and_a_stack_without_one_says_so(
    ran: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "mnist", "--on", "job", "--stack", "lite", "--gpus", "2", "--kubeconfig", "k"]) == 2
    said = capsys.readouterr().err
    assert "--gpus: only supported with --on batch and --on aks and --on edge and --on cluster" in said
    assert "--kubeconfig: only supported with --on edge" in said
    assert main(["run", "mnist", "--on", "aks", "--stack", "lite", "--job", "train"]) == 2
    said = capsys.readouterr().err
    assert "--job: only supported with --on job" in said
    assert "the stack has no cluster" in said
    assert ran == []


def test_files_are_refused_for_an_edge_in_one_problem_that_says_what_to_do_instead(
    ran: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--input", "x", "--output", "*.json", "--into", "out"]
    assert main(["run", "mnist", "--on", "edge", "--stack", "lite", "--kubeconfig", "k", *words]) == 2
    said = capsys.readouterr().err
    assert "--input, --output, --into: files are transferred as the stack's identity" in said
    assert said.count("files are transferred") == 1
    assert "or use --on aks" in said
    assert ran == []


def test_options_of_pools_are_refused_for_a_job_and_the_other_way_round(
    ran: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "mnist", "--on", "job", "--stack", "dev", "--nodes", "2", "--output", "*.json"]) == 2
    said = capsys.readouterr().err
    assert "2 problems, nothing was started" in said
    assert "--nodes: a Container Apps job runs in one container; given: 2; allowed: 1; fix: remove it" in said
    assert "--output: the stack has no storage account" in said
    assert main(["run", "mnist", "--on", "local", "--output", "*.json", "--input", "x"]) == 2
    said = capsys.readouterr().err
    assert "--output: only supported with --on job and --on batch and --on aks and --on vm and --on cluster" in said
    assert "--input: only supported with --on job and --on aks and --on vm and --on cluster" in said
    assert main(["run", "mnist", "--on", "batch", "--stack", "dev", "--job", "train"]) == 2
    said = capsys.readouterr().err
    assert "--job: only supported with --on job" in said
    assert "the stack has no pool" in said
    assert ran == []


@pytest.mark.parametrize("error", [BuildFailedError("no image"), RunError("gone"), AzureError("Forbidden")])
def test_a_run_that_fails_by_itself_ends_with_125(
    ran: list[dict[str, Any]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
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


def test_a_manual_job_has_credentials_for_the_servers_that_it_names() -> None:
    registries = [{"server": "A.azurecr.io"}]
    job = job_of({"id": "/t", "name": "t", "properties": {"configuration": {"registries": registries, "triggerType": "Manual"}}})
    assert job.registry_servers == {"a.azurecr.io"}
    assert job.is_manual


@pytest.mark.slow
def test_it_loads_without_azures_clients() -> None:
    code = (
        "import sys; from azure_gpu_operations.__main__ import main\n"
        "try: main(['run', 'mnist', '--on', 'job'])\n"
        "finally: print([m for m in sys.modules if m.startswith('azure.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=CHECKOUT)
    assert done.stdout.strip() == "[]"
