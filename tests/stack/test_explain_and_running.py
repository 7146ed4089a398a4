"""`explain` and `running` by a stack's own names: also for what was refused and so is in no output."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.stack.conftest import MakeStack
from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.patience import SECONDS
from tests.support.stack import ProgramStack

pytestmark = pytest.mark.slow
SAMPLE = "mcr.microsoft.com/azuredocs/samples-tf-mnist-demo:gpu"


@pytest.fixture(scope="module")
def server(starts_processes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAzure]:
    """One that a test may upset, and on which nothing runs but what a test has brought up."""
    made = ServedAzure(tmp_path_factory.mktemp("own"))
    yield made
    made.stop()


@pytest.fixture
def stack(server: ServedAzure, make_stack: MakeStack) -> ProgramStack:
    """A stack with one container group."""
    group = {"image": SAMPLE, "cpu": 1, "memory_in_gb": 1.5, "restart_policy": "Never", "command": ["sleep", "600"]}
    return make_stack(server, {"team": "tests", "location": "westeurope", "container_groups": {"trainer": group}})


def bring_up(stack: ProgramStack) -> "subprocess.CompletedProcess[str]":
    stack.create()
    return stack.pulumi("up", "--yes", "--skip-preview")


def operations(stack: ProgramStack, *words: str) -> "subprocess.CompletedProcess[str]":
    """A command that is about no stack alone."""
    command = [sys.executable, "-m", "operations", *words, "--config-folder", str(stack.azure.state)]
    return subprocess.run(
        command, cwd=CHECKOUT, env=stack.environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def test_a_group_that_was_refused_is_explained_by_its_name_in_the_stack_file(server: ServedAzure, stack: ProgramStack) -> None:
    assert server.command("fault", "capacity", "westeurope").returncode == 0
    assert bring_up(stack).returncode != 0
    done = stack.operations("explain", "trainer")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith("trainer (container group): no capacity\n")
    assert "is not available in the location 'westeurope'" in done.stdout
    assert server.command("fault", "clear").returncode == 0


def test_what_runs_is_listed_with_what_is_not_known_and_a_wrong_name_is_told_the_right_one(stack: ProgramStack) -> None:
    done = bring_up(stack)
    assert done.returncode == 0, done.stdout + done.stderr

    shown = stack.operations("running")
    assert shown.returncode == 0, shown.stderr
    assert "trainer" in shown.stdout
    assert "together an hour: not known; so far: not known" in shown.stdout

    everything = operations(stack, "running", "--all", "--json")
    assert everything.returncode == 0, everything.stderr
    (row,) = json.loads(everything.stdout)["running"]
    assert (row["name"], row["stack"], row["state"], row["usd_hour"]) == ("trainer", stack.name, "Running", None)
    assert row["since"]

    healthy = stack.operations("explain", "trainer")
    assert (healthy.returncode, healthy.stdout.splitlines()[0]) == (0, "trainer (container group, Running): no failure")
    wrong = stack.operations("explain", "trianer")
    assert wrong.returncode == 2
    assert "did you mean trainer?" in wrong.stderr
