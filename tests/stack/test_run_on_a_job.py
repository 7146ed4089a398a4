"""`run` on a stack's job: a script goes to the registry and to the job of a real stack, its log and its exit code come back."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stack.attached_runs import carries_files, is_followed_and_stopped
from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.patience import SECONDS
from tests.support.stack import ProgramStack, standing

pytestmark = pytest.mark.slow
JOB = {"gpu": "T4", "cpu": 4, "memory_in_gib": 16, "timeout_minutes": 10, "expires_after": "2999-01-01"}
CONFIG: dict[str, Any] = {
    "team": "tests",
    "location": "eastus",
    "foundation": dict.fromkeys(["resource_group", "identity", "registry", "log_workspace", "storage"], "create"),
    "jobs": {"trainer": JOB},
}
SCRIPT = """\
import os, sys, time
print("arguments", *sys.argv[1:], flush=True)
print("colour", os.environ.get("COLOUR"), "secret", len(os.environ.get("TOKEN", "")), flush=True)
time.sleep(float(os.environ.get("SLEEP", "0")))
sys.exit(int(os.environ.get("CODE", "0")))
"""


@pytest.fixture(scope="module")
def stack(azure: ServedAzure, engine_bin: Path) -> Iterator[ProgramStack]:
    """One stack with a job and a registry for all tests here; each brings a script of its own."""
    with standing(azure, "runs", CONFIG, engine_bin=engine_bin) as made:
        yield made


def run(stack: ProgramStack, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return stack.operations("run", "--on", "job", *words, **environment)


def test_a_script_runs_with_its_arguments_and_variables_and_its_exit_code_is_ours_and_explained(
    stack: ProgramStack, script: Path
) -> None:
    done = run(stack, str(script), "--env", "COLOUR=red", "--env", "CODE=7", "--", "--epochs", "3")
    assert done.returncode == 7, done.stdout + done.stderr
    assert done.stdout == "arguments --epochs 3\ncolour red secret 0\n"
    assert "trainer: Failed, exit code 7; " in done.stderr
    assert " minutes, " in done.stderr
    assert "USD at 0.78" in done.stderr  # a T4, 4 vCPU and 16 GiB in East US
    assert "Traceback" not in done.stderr
    explained = stack.operations("explain", "trainer").stdout
    assert "exit code 7" in explained
    assert "program error" in explained
    assert "    arguments" in explained, "its last lines are shown"

    # What was built is not built again, and a secret reaches the script and nobody else.
    secret = "hunter2-hunter2"
    done = run(stack, str(script), "--secret-env", "TOKEN", TOKEN=secret)
    assert done.returncode == 0, done.stderr
    assert "is already built" in done.stderr
    assert f"secret {len(secret)}" in done.stdout
    job_id = stack.outputs()["jobs"]["trainer"]
    executions = stack.azure.get(f"{job_id}/executions", "2025-02-02-preview").text
    job = stack.azure.get(job_id, "2025-02-02-preview")
    for what, text in {"output": done.stdout + done.stderr, "executions": executions, "job": job.text}.items():
        assert secret not in text, f"the secret is in the {what}"
    assert job.json()["properties"]["configuration"].get("secrets") in (None, []), "the job has the secret no more"


def test_requirements_that_do_not_resolve_end_with_the_builds_last_lines(
    stack: ProgramStack, script: Path, tmp_path: Path
) -> None:
    (tmp_path / "needs.txt").write_text("no-such-package-was-ever-there==1.2.3\n")
    done = run(stack, str(script), "--requirements", str(tmp_path / "needs.txt"))
    assert done.returncode == 125, done.stdout + done.stderr
    assert "the requirements can't be installed" in done.stderr
    assert "last lines of its log:" in done.stderr
    assert "no-such-package-was-ever-there" in done.stderr
    assert "Traceback" not in done.stderr
    assert "started" not in done.stderr


def test_without_a_target_the_jobs_own_image_runs(stack: ProgramStack) -> None:
    done = run(stack)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 1
    assert "trainer: Succeeded, exit code 0; " in done.stderr


def test_an_image_that_nobody_can_pull_is_refused_with_its_name(stack: ProgramStack) -> None:
    done = run(stack, "example.com/no/such:image")
    assert done.returncode != 0
    assert "example.com/no/such:image" in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_the_execution_in_azure_and_says_what_it_cost(stack: ProgramStack, script: Path) -> None:
    process = subprocess.Popen(
        stack.line("run", "--on", "job", str(script), "--env", "SLEEP=300"),
        cwd=CHECKOUT,
        env=stack.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "arguments\n"
        shown = stack.operations("running", "--json")
        assert [row["stack"] for row in json.loads(shown.stdout)["running"]] == [stack.name]
        assert json.loads(shown.stdout)["usd_hour"] == 0.7812
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert "stopping the execution" in said
    assert "is stopped" in said
    assert "USD at 0.78" in said
    assert stack.operations("running").stdout == "nothing is running\n"


def test_one_that_takes_too_long_is_stopped(stack: ProgramStack, script: Path) -> None:
    done = run(stack, str(script), "--env", "SLEEP=300", "--timeout", "0.1")
    assert done.returncode == 124, done.stderr
    assert "stopped after its timeout" in done.stderr


def test_a_run_that_was_left_is_followed_and_stopped_by_its_name(stack: ProgramStack, tmp_path: Path) -> None:
    is_followed_and_stopped(stack, tmp_path, "--on", "job")


def test_files_go_with_a_script_and_come_back(stack: ProgramStack, tmp_path: Path) -> None:
    carries_files(stack, tmp_path, "--on", "job")
