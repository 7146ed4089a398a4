"""Stacks on an embedded Azure on which nothing runs: up in seconds, and previewed against as ever."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import happy_cases
from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.stack import ProgramStack

pytestmark = pytest.mark.slow


def processes_of(pid: int) -> list[str]:
    """The command lines of a process's children, but for the keeper of blobs, which other tests on the same server ask for."""
    listed = ["ps", "-eww", "-o", "ppid=,args="]
    shown = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    return [
        line for line in shown.splitlines() if line.split(maxsplit=1)[0] == str(pid) and "/blobs/azurite/serve.js" not in line
    ]


def test_children_are_seen() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        assert any("sleep 60" in line for line in processes_of(os.getpid()))
        child.kill()


@pytest.fixture(scope="module")
def config(still_azure: ServedAzure) -> dict[str, Any]:
    """The local stack's."""
    whole = yaml.safe_load((CHECKOUT / "Pulumi.local.yaml").read_text())["config"]
    config = {key.removeprefix("azure-gpu:"): value for key, value in whole.items()}
    return {**config, "image_source": f"{still_azure.url}/checkout.git#HEAD"}


@pytest.fixture(scope="module")
def local(still_azure: ServedAzure, engine_bin: Path, config: dict[str, Any]) -> Iterator[ProgramStack]:
    """It, up."""
    stack = ProgramStack(still_azure, "local", config, engine_bin=engine_bin)
    stack.create()
    stack.update()
    yield stack
    stack.end()


def test_the_local_stack_comes_up_and_shows_what_a_change_of_it_replaces(
    still_azure: ServedAzure, local: ProgramStack, config: dict[str, Any]
) -> None:
    assert processes_of(still_azure.pid) == []
    resources = {each["urn"].split("::")[-1]: each for each in local.exported()["resources"]}
    namespace = resources["shared-namespace-gpu-jobs"]
    assert namespace["outputs"]["metadata"]["name"] == namespace["inputs"]["metadata"]["name"]
    assert "status" not in namespace["outputs"]
    assert local.steps() == []

    config["pools"]["train"]["size"] = "Standard_NC8as_T4_v3"
    config["clusters"]["shared"]["namespace"]["max_gpus"] = 2
    local.configure(config)
    steps = local.steps()
    assert ("replace", "train-pool") in [(step.operation, step.name) for step in steps]
    assert [(step.operation, step.name) for step in steps if step.type.startswith("kubernetes:")] == [
        ("update", "shared-resource-quota-gpus")
    ]
    assert processes_of(still_azure.pid) == []


# What `prove` shows of a service that answers is in test_promised_commands, that one broken service leaves the others alone in
# tests/operations/test_prove.py.
SERVICES = {
    "container-group": ("container_groups", "2023-05-01"),
    "job": ("jobs", "2025-01-01"),
    "batch": ("pools", "2024-07-01"),
    "aks": ("clusters", "2025-09-01"),
    "cluster": ("ml_computes", "2024-04-01"),
    "endpoint": ("endpoints", "2024-04-01"),
}


def test_each_service_that_somebody_has_deleted_is_a_proof_that_fails_and_says_why(local: ProgramStack) -> None:
    outputs = local.outputs()
    for output, version in SERVICES.values():
        for resource_id in outputs[output].values():
            answer = local.azure.delete(resource_id, version)
            assert answer.status_code in (200, 202, 204), answer.text
            if answer.status_code == 202:
                local.azure.finished(answer)
    done = local.operations("prove", "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    proofs = {row["service"]: row for row in json.loads(done.stdout)["proofs"]}
    assert {name: row["passed"] for name, row in proofs.items()} == dict.fromkeys(SERVICES, False)
    assert [name for name, row in proofs.items() if not row["why"]] == []


# What needs models and images that nobody has uploaded or built; packages are in tests/localazure/nothing_runs. What is put onto
# clusters is answered alike, whatever it is, as in the local stack; an edge is in tests/stack/test_review.py.
def test_a_happy_case_comes_up_at_once(still_azure: ServedAzure, engine_bin: Path) -> None:
    with happy_cases.declared("ml_endpoint.happy.blue_and_green", still_azure, engine_bin) as stack:
        assert processes_of(still_azure.pid) == []
        refreshed = stack.pulumi("refresh", "--yes", "--skip-preview")
        assert refreshed.returncode == 0, refreshed.stdout + refreshed.stderr
        assert stack.steps() == []
