"""`run --on vm` and `--on cluster`, and `vm`, against the real engine's stack on the embedded Azure: a script and an image on a
machine with a T4 and on a node that comes from none, with their output, exit code and cost."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stack.attached_runs import carries_files, is_followed_and_stopped
from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.ssh_keys import PUBLIC_KEY
from tests.support.stack import ProgramStack, standing

pytestmark = pytest.mark.slow

SCRIPT = """\
import os, sys
print("hello from", sys.argv[1:], os.environ.get("WORD"), flush=True)
print("and an error", file=sys.stderr, flush=True)
sys.exit(int(os.environ.get("CODE", "0")))
"""
T4 = [
    "name: Tesla T4",
    "major: 7 minor: 5 memoryClockRate (GHz) ",
    "pciBusID ",
    "Total memory: 15.00GiB",
    "Free memory: ",
]


def configuration() -> dict[str, Any]:
    """A machine with a T4, and a compute cluster that has no node while no job waits."""
    t4 = {"size": "Standard_NC4as_T4_v3", "expires_after": "2026-11-30"}
    return {
        "team": "tests",
        "location": "eastus",
        "as_of": "2026-11-21",
        "foundation": dict.fromkeys(["resource_group", "identity", "registry", "log_workspace", "storage"], "create"),
        "vms": {"trainer": {**t4, "admin": {"ssh_public_key": PUBLIC_KEY}}},
        "ml_workspace": {"computes": {"gpu": {**t4, "max_nodes": 2, "idle_minutes": 1}}},
    }


@pytest.fixture(scope="module")
def stack(azure: ServedAzure, engine_bin: Path) -> Iterator[ProgramStack]:
    with standing(azure, f"t{uuid.uuid4().hex[:8]}", configuration(), engine_bin=engine_bin) as made:
        yield made


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "hello.py"
    file.write_text(SCRIPT)
    return file


def confirmed(text: str) -> bool:
    """Whether the lines of a T4 stand in it, one after the other."""
    lines = text.splitlines()
    at = lines.index(T4[0]) if T4[0] in lines else len(lines)
    return len(lines) >= at + len(T4) and all(line.startswith(said) for line, said in zip(lines[at:], T4, strict=False))


def test_a_machine_that_is_up_has_proved_its_driver_and_a_refresh_changes_nothing(stack: ProgramStack) -> None:
    done = stack.operations("start", "trainer")
    assert done.returncode == 0, done.stderr
    assert "Standard_NC4as_T4_v3 in eastus, Linux" in done.stdout
    assert "  running" in done.stdout
    assert "0.526 USD/hour" in done.stdout
    assert confirmed(done.stdout.replace("    ", ""))
    assert "deallocated by Azure each day at 19:00, UTC" in done.stdout
    assert "its last day ends at 2026-12-01T00:00:00Z" in done.stdout
    refreshed = stack.pulumi("refresh", "--yes", "--skip-preview", "--diff", "--expect-no-changes")
    assert refreshed.returncode == 0, refreshed.stdout + refreshed.stderr


def test_a_script_runs_in_a_container_with_the_machines_gpu_and_its_exit_code_is_ours(stack: ProgramStack, script: Path) -> None:
    done = stack.operations("run", str(script), "--on", "vm", "--env", "WORD=a b", "--env", "CODE=7", "--", "--epochs", "3 4")
    assert done.returncode == 7, done.stdout + done.stderr
    assert "hello from ['--epochs', '3 4'] a b\n" in done.stdout
    assert confirmed(done.stderr), done.stderr
    assert "trainer: Failed, exit code 7; " in done.stderr
    assert "USD at 0.526 USD/hour" in done.stderr


def test_a_script_runs_with_the_machines_own_python_too_and_finds_a_secret(
    stack: ProgramStack, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(stack.environment, "WORD", "hunter2")
    done = stack.operations("run", str(script), "--on", "vm", "--way", "python", "--secret-env", "WORD")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "hello from [] hunter2\n"
    assert "and an error\n" in done.stderr


def test_what_a_run_left_on_the_machine_is_gone(stack: ProgramStack) -> None:
    machine = stack.outputs()["vms"]["trainer"]
    left = stack.azure.get(f"{machine}/runCommands", "2024-11-01").json()["value"]
    assert [each["name"] for each in left] == ["prove-driver"]


def test_a_run_that_was_left_is_followed_and_stopped_by_its_name(stack: ProgramStack, tmp_path: Path) -> None:
    is_followed_and_stopped(stack, tmp_path, "--on", "vm", "--way", "python")


def test_files_go_with_a_container_on_the_machine_and_come_back(stack: ProgramStack, tmp_path: Path) -> None:
    carries_files(stack, tmp_path, "--on", "vm")
    plain = stack.operations("run", str(tmp_path / "counts.py"), "--on", "vm", "--way", "python", "--output", "out", "--", "0")
    assert plain.returncode == 2
    assert "--way: files require a container" in plain.stderr


def test_a_deallocated_machine_is_started_and_deallocated_again_by_a_run_that_is_asked_to(
    stack: ProgramStack, script: Path
) -> None:
    done = stack.operations("stop", "trainer")
    assert done.returncode == 0, done.stderr
    assert "trainer is deallocated; cost: nothing for the machine; still billed: its disk" in done.stdout
    assert "0.027 USD/hour" in done.stdout
    done = stack.operations("run", str(script), "--on", "vm", "--way", "python")
    assert done.returncode == 2
    assert "the machine is deallocated" in done.stderr
    assert "add --start" in done.stderr
    assert "deallocated" in stack.operations("running").stdout
    assert stack.steps() == []  # what is deallocated is no other machine

    done = stack.operations("run", str(script), "--on", "vm", "--way", "python", "--start", "--stop-after")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "hello from [] None\n"
    assert "starting trainer; cost: 0.526 USD/hour" in done.stderr
    assert "trainer is deallocated; cost: nothing for the machine" in done.stderr


def test_a_script_runs_on_a_cluster_of_the_workspace_whose_node_comes_from_none(stack: ProgramStack, script: Path) -> None:
    done = stack.operations("run", str(script), "--on", "cluster", "--env", "WORD=x", "--env", "CODE=4", "--", "a", "b c")
    assert done.returncode == 4, done.stdout + done.stderr
    assert "hello from ['a', 'b c'] x\n" in done.stdout
    assert "and an error\n" in done.stdout  # the service has one log for both
    assert confirmed(done.stderr), done.stderr
    assert "gpu: Failed, exit code 4; " in done.stderr
    assert "for its node, which stays for 1 idle minutes" in done.stderr


def test_two_workers_on_the_cluster_meet_by_the_addresses_in_tf_config(stack: ProgramStack) -> None:
    program = str(CHECKOUT / "tests" / "support" / "meeting.py")
    words = ["--on", "cluster", "--nodes", "2", "--gpus", "1", "--env", "CODE=3", "--env", "WAIT=1", "--", "--epochs", "3"]
    done = stack.operations("run", program, *words)
    assert done.returncode == 3, done.stdout + done.stderr
    met = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("[")))
    assert [(one["index"], one["arguments"]) for one in met] == [(0, ["--epochs", "3"]), (1, ["--epochs", "3"])]
    assert "on compute gpu over 2 nodes" in done.stderr
    assert "for its 2 nodes together, which stay" in done.stderr
    more = stack.operations("run", program, "--on", "cluster", "--nodes", "3", "--gpus", "2")
    assert more.returncode == 2, more.stderr
    assert "--nodes: the compute gpu gets at most 2 nodes" in more.stderr
    assert "--gpus: a node of the compute gpu (Standard_NC4as_T4_v3) has fewer GPUs; given: 2; allowed: 0 to 1" in more.stderr


def test_a_workload_starts_on_the_cluster_as_its_dockerfile_says(stack: ProgramStack) -> None:
    done = stack.operations("run", "vector_add", "--on", "cluster", "--", "--elements", "100")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[Vector addition of 100 elements]" in done.stdout
    assert "gpu: Completed, exit code 0; " in done.stderr


def test_a_job_of_the_workspace_that_was_left_is_followed_and_stopped_by_its_name(stack: ProgramStack, tmp_path: Path) -> None:
    is_followed_and_stopped(stack, tmp_path, "--on", "cluster")


def test_files_go_with_a_job_of_the_workspace_and_come_back(stack: ProgramStack, tmp_path: Path) -> None:
    carries_files(stack, tmp_path, "--on", "cluster")
