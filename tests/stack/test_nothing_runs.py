"""Stacks on an embedded Azure on which nothing runs: up in seconds, and previewed against as ever."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.stack.conftest import MakeStack
from tests.support import happy_cases
from tests.support.embedded import CHECKOUT, ServedAzure

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def processes_of(pid: int) -> list[str]:
    """The command lines of a process's children."""
    listed = ["ps", "-eww", "-o", "ppid=,args="]
    shown = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    return [line for line in shown.splitlines() if line.split(maxsplit=1)[0] == str(pid)]


def test_children_are_seen() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        assert any("sleep 60" in line for line in processes_of(os.getpid()))
        child.kill()


def test_the_local_stack_comes_up_and_shows_what_a_change_of_it_replaces(still_azure: ServedAzure, make_stack: MakeStack) -> None:
    whole = yaml.safe_load((CHECKOUT / "Pulumi.local.yaml").read_text())["config"]
    config = {key.removeprefix("azure-gpu:"): value for key, value in whole.items()}
    stack = make_stack(still_azure, {**config, "image_source": f"{still_azure.url}/checkout.git#HEAD"})
    stack.create()
    stack.update()
    assert processes_of(still_azure.pid) == []
    resources = {each["urn"].split("::")[-1]: each for each in stack.exported()["resources"]}
    namespace = resources["shared-namespace-gpu-jobs"]
    assert namespace["outputs"]["metadata"]["name"] == namespace["inputs"]["metadata"]["name"]
    assert "status" not in namespace["outputs"]
    assert stack.steps() == []

    config["pools"]["train"]["size"] = "Standard_NC8as_T4_v3"
    config["clusters"]["shared"]["namespace"]["max_gpus"] = 2
    stack.configure({**config, "image_source": f"{still_azure.url}/checkout.git#HEAD"})
    steps = stack.steps()
    assert ("replace", "train-pool") in [(step.operation, step.name) for step in steps]
    assert [(step.operation, step.name) for step in steps if step.type.startswith("kubernetes:")] == [
        ("update", "shared-resource-quota-gpus")
    ]
    assert processes_of(still_azure.pid) == []


# What needs packages, models and images that nobody has uploaded or built. What is put onto clusters is answered alike, whatever
# it is, as in the local stack; an edge is in tests/stack/test_review.py.
CASES = ["ml_endpoint.happy.blue_and_green", "pool.happy.everything"]


@pytest.mark.parametrize("name", CASES)
def test_a_happy_case_comes_up_at_once(name: str, still_azure: ServedAzure, engine_bin: Path) -> None:
    with happy_cases.declared(name, still_azure, engine_bin) as stack:
        assert processes_of(still_azure.pid) == []
        refreshed = stack.pulumi("refresh", "--yes", "--skip-preview")
        assert refreshed.returncode == 0, refreshed.stdout + refreshed.stderr
        assert stack.steps() == []
