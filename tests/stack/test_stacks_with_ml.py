"""An Azure Machine Learning workspace on the real engine: up, nothing left to change, edits with exactly the operations that they
need, destroyed, and up again although Azure keeps what was deleted.

One stack for the whole file, whose tests follow each other.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stack.configurations import with_ml
from tests.support.embedded import SUBSCRIPTION, ServedAzure
from tests.support.ml_resources import upload
from tests.support.stack import ProgramStack, Step

pytestmark = pytest.mark.slow
COMPUTE = "azure-native:machinelearningservices:Compute"
API_VERSION = "2025-12-01"
IMAGE = "mcr.microsoft.com/azureml/openmpi5.0-cuda12.4-ubuntu22.04"


def with_content(path: str = "mnist/1", version: str = "1", **compute: Any) -> dict[str, Any]:
    """A workspace with a model and an environment."""
    environments = {"train": {"version": "1", "image": IMAGE}}
    return with_ml({"models": {"mnist": {"version": version, "path": path}}, "environments": environments}, **compute)


@pytest.fixture(scope="module")
def stack(azure: ServedAzure, engine_bin: Path) -> Iterator[ProgramStack]:
    """A stack that is up, with a workspace and machines that have not come yet."""
    made = ProgramStack(azure, "learning", with_ml(), engine_bin=engine_bin)
    made.create()
    made.update()
    yield made
    made.end()


def steps(stack: ProgramStack) -> list[tuple[str, str]]:
    """What a preview would do, a replacement in its parts, by the resource's name."""
    done = stack.pulumi("preview", "--json", "--show-replacement-steps")
    assert done.returncode == 0, done.stdout + done.stderr
    return [(step["op"], step["urn"].rsplit("::", 1)[-1]) for step in json.loads(done.stdout)["steps"] if step["op"] != "same"]


def beside(name: str) -> list[tuple[str, str]]:
    """The parts of a replacement whose new resource comes before the old one goes."""
    return [(part, name) for part in ("create-replacement", "replace", "delete-replaced")]


def test_a_model_is_registered_once_it_lies_where_it_is_said_to_lie_and_stays(azure: ServedAzure, stack: ProgramStack) -> None:
    account = stack.outputs()["storage"].rsplit("/", 1)[-1]
    stack.configure(with_content())
    done = stack.pulumi("up", "--yes", "--skip-preview")
    assert done.returncode != 0
    assert "there is no blob 'mnist/1'" in done.stdout, done.stdout
    upload(azure, account, "models", "mnist/1/saved_model.pb")
    stack.update()
    again = stack.pulumi("preview", "--expect-no-changes")  # what a refresh finds is in test_happy_cases_of_machine_learning
    assert again.returncode == 0, again.stdout + again.stderr
    assert stack.outputs()["ml_models"]["mnist"].endswith("/models/mnist/versions/1")

    stack.configure(with_content("mnist/2"))
    refused = stack.pulumi("preview")
    assert refused.returncode != 0
    assert "ml_workspace.models.mnist: version 1 exists with another modelUri" in refused.stdout
    stack.configure(with_content("mnist/2", "2"))
    assert steps(stack) == beside("ml-model-mnist")


def test_the_scale_changes_in_place_and_another_size_stands_beside_what_it_replaces(
    azure: ServedAzure, stack: ProgramStack
) -> None:
    before = stack.outputs()["ml_computes"]["t4"]
    stack.configure(with_content(max_nodes=2, idle_minutes=5))
    assert stack.steps() == [Step("update", COMPUTE, "ml-compute-t4")]
    stack.configure(with_content(size="Standard_NC8as_T4_v3"))
    assert [(step.operation, step.name) for step in stack.changes()] == beside("ml-compute-t4")
    assert stack.outputs()["ml_computes"]["t4"] != before
    assert azure.get(before, API_VERSION).status_code == 404


def test_the_stack_comes_up_again_although_azure_keeps_the_names_of_what_was_deleted(
    azure: ServedAzure, stack: ProgramStack
) -> None:
    first = stack.outputs()["ml_workspace"]
    vault = azure.get(first, API_VERSION).json()["properties"]["keyVault"]
    destroyed = stack.pulumi("destroy", "--yes", "--skip-preview")
    assert destroyed.returncode == 0, destroyed.stdout + destroyed.stderr
    kept = azure.get(f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.KeyVault/deletedVaults", "2024-11-01").json()["value"]
    assert vault.lower() in [each["properties"]["vaultId"].lower() for each in kept]

    stack.configure(with_ml())
    stack.update()
    again = stack.outputs()["ml_workspace"]
    assert again != first
    assert azure.get(again, API_VERSION).json()["properties"]["keyVault"] != vault
