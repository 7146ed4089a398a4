"""An Azure Machine Learning workspace on the real engine: up, nothing left to change, edits with exactly the operations that they
need, down, and up again although Azure keeps what was deleted."""

import json
from typing import Any

import pytest

from tests.stack.configurations import with_ml
from tests.stack.conftest import MakeStack
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure
from tests.support.ml_resources import upload
from tests.support.stack import ProgramStack, Step

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
WORKSPACE = "azure-native:machinelearningservices:Workspace"
COMPUTE = "azure-native:machinelearningservices:Compute"
VAULT = "azure-native:keyvault:Vault"
API_VERSION = "2025-12-01"
IMAGE = "mcr.microsoft.com/azureml/openmpi5.0-cuda12.4-ubuntu22.04"


def with_content(path: str = "mnist/1", version: str = "1") -> dict[str, Any]:
    """A workspace with a model and an environment, and what it needs besides alone."""
    content: dict[str, Any] = {
        "models": {"mnist": {"version": version, "path": path}},
        "environments": {"train": {"version": "1", "image": IMAGE}},
        "computes": {},
    }
    return {**with_ml(content), "foundation": dict.fromkeys(["log_workspace", "storage"], "create")}


def up(stack: ProgramStack) -> None:
    done = stack.pulumi("up", "--yes", "--skip-preview")
    assert done.returncode == 0, done.stdout + done.stderr


def unchanged(stack: ProgramStack) -> None:
    for command in ("preview", "refresh"):
        done = stack.pulumi(command, "--expect-no-changes", *(["--yes"] if command == "refresh" else []))
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def steps(stack: ProgramStack) -> list[tuple[str, str]]:
    """What a preview would do, a replacement in its parts, by the resource's name."""
    done = stack.pulumi("preview", "--json", "--show-replacement-steps")
    assert done.returncode == 0, done.stdout + done.stderr
    return [(step["op"], step["urn"].rsplit("::", 1)[-1]) for step in json.loads(done.stdout)["steps"] if step["op"] != "same"]


def workspace_of(azure: EmbeddedAzure, stack: ProgramStack) -> dict[str, Any]:
    return azure.get(stack.outputs()["ml_workspace"], API_VERSION).json()


def test_a_workspace_comes_up_changes_as_it_has_to_and_comes_up_again_after_it_was_deleted(
    azure: EmbeddedAzure, make_stack: MakeStack
) -> None:
    stack = make_stack(azure, with_ml())
    stack.create()
    created = {(step.type, step.name) for step in stack.steps() if step.operation == "create"}
    assert {(WORKSPACE, "ml-workspace"), (VAULT, "ml-vault"), (COMPUTE, "ml-compute-t4")} < created
    up(stack)
    unchanged(stack)

    outputs = stack.outputs()
    first = workspace_of(azure, stack)
    told = first["properties"]
    assert (told["systemDatastoresAuthMode"], told["v1LegacyMode"], told["publicNetworkAccess"]) == ("Identity", False, "Enabled")
    assert told["storageAccount"].lower() == outputs["storage"].lower()
    assert outputs["expires_at"] == {"t4": "2026-12-01T00:00:00Z"}
    assert outputs["hourly_cost"] == {"t4": pytest.approx(0.526)}
    assert outputs["idle_cost"] == {"t4": 0}
    before = outputs["ml_computes"]["t4"]
    machines = azure.get(before, API_VERSION).json()
    inner = machines["properties"]["properties"]
    assert (inner["remoteLoginPortPublicAccess"], inner["scaleSettings"]["minNodeCount"]) == ("Disabled", 0)
    assert machines["tags"]["expires-at"] == "2026-12-01T00:00:00Z"

    # The scale changes in place; another size stands beside the machines that it replaces.
    stack.configure(with_ml(max_nodes=2, idle_minutes=5))
    assert stack.steps() == [Step("update", COMPUTE, "ml-compute-t4")]
    up(stack)
    assert stack.outputs()["ml_computes"]["t4"] == before
    stack.configure(with_ml(max_nodes=2, idle_minutes=5, size="Standard_NC8as_T4_v3"))
    assert steps(stack) == [
        ("create-replacement", "ml-compute-t4"),
        ("replace", "ml-compute-t4"),
        ("delete-replaced", "ml-compute-t4"),
    ]
    up(stack)
    after = stack.outputs()["ml_computes"]["t4"]
    assert after != before
    assert azure.get(before, API_VERSION).status_code == 404
    unchanged(stack)

    # Azure keeps the workspace and the vault, and their names; the stack comes up again all the same.
    destroyed = stack.pulumi("destroy", "--yes", "--skip-preview")
    assert destroyed.returncode == 0, destroyed.stdout + destroyed.stderr
    vaults = azure.get(f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.KeyVault/deletedVaults", "2024-11-01").json()["value"]
    assert told["keyVault"].lower() in [each["properties"]["vaultId"].lower() for each in vaults]
    up(stack)
    again = workspace_of(azure, stack)
    assert again["name"] != first["name"]
    assert again["properties"]["keyVault"] != told["keyVault"]


def test_a_model_is_registered_once_it_is_there_and_a_version_of_it_never_changes(
    azure: EmbeddedAzure, make_stack: MakeStack
) -> None:
    stack = make_stack(azure, with_content())
    stack.create()
    # It is registered once it lies where it is said to lie.
    done = stack.pulumi("up", "--yes", "--skip-preview")
    assert done.returncode != 0
    assert "there is no blob 'mnist/1'" in done.stdout, done.stdout
    listed = azure.get(f"/subscriptions/{SUBSCRIPTION}/resources", "2024-11-01").json()["value"]
    [account] = [each["name"] for each in listed if stack.name in each["id"] and each["type"].endswith("/storageAccounts")]
    upload(azure, account, "models", "mnist/1/saved_model.pb")
    up(stack)
    unchanged(stack)
    assert stack.outputs()["ml_models"]["mnist"].endswith("/models/mnist/versions/1")

    # The content of a version stays; another version comes before the old one goes.
    stack.configure(with_content("mnist/2"))
    refused = stack.pulumi("preview")
    assert refused.returncode != 0
    assert "ml_workspace.models.mnist: a version never changes, and version 1 is there with another modelUri" in refused.stdout
    stack.configure(with_content("mnist/2", "2"))
    assert steps(stack) == [
        ("create-replacement", "ml-model-mnist"),
        ("replace", "ml-model-mnist"),
        ("delete-replaced", "ml-model-mnist"),
    ]
