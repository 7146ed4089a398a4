"""The real Azure CLI with templates that can't be deployed, and what a what-if shows: code, message, place, exit code."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.azure_cli import AzureCli

pytestmark = pytest.mark.slow
SCHEMA = "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#"
IDENTITY = {"type": "Microsoft.ManagedIdentity/userAssignedIdentities", "apiVersion": "2023-01-31", "location": "eastus"}


@pytest.fixture(scope="module")
def group(az: AzureCli) -> Iterator[str]:
    with az.group("eastus") as name:
        yield name


def template(folder: Path, **parts: Any) -> tuple[str, str]:
    """`--template-file` and a file with these parts."""
    file = folder / "main.json"
    whole = {"$schema": SCHEMA, "contentVersion": "1.0.0.0", "resources": [], **parts}
    file.write_text(json.dumps(whole, indent=2))
    return "--template-file", str(file)


def deployment(az: AzureCli, verb: str, group: str, *words: str) -> tuple[int, str]:
    return az.refusal("deployment", "group", verb, "--resource-group", group, *words)


@pytest.mark.parametrize("verb", ["validate", "create", "what-if"])
def test_an_unknown_function_is_named_with_its_place(az: AzureCli, group: str, tmp_path: Path, verb: str) -> None:
    file = template(tmp_path, outputs={"out": {"type": "string", "value": "[nobodyKnows('x')]"}})
    code, said = deployment(az, verb, group, *file)
    assert code == 1
    assert said.startswith("ERROR: ")
    for words in ("InvalidTemplate", "nobodyKnows", "outputs.out.value", "line '8'"):
        assert words in said


def test_what_the_service_refuses_is_refused_before_anything_is_created(az: AzureCli, group: str, tmp_path: Path) -> None:
    requests = {"cpu": 4, "memoryInGb": 12, "gpu": {"count": 1, "sku": "V100"}}
    container = {"name": "c", "properties": {"image": "microsoft/samples-tf-mnist-demo:gpu", "resources": {"requests": requests}}}
    gone = {
        "type": "Microsoft.ContainerInstance/containerGroups",
        "apiVersion": "2018-10-01",
        "name": "gone",
        "location": "eastus",
        "properties": {"containers": [container], "osType": "Linux"},
    }
    resources = [{**IDENTITY, "name": "before"}, gone]
    code, said = deployment(az, "create", group, *template(tmp_path, resources=resources))
    assert code == 1
    assert "2025-07-14" in said  # the service sold no GPU from that day on
    assert az.answer("identity", "list", "--resource-group", group) == []


def test_what_if_shows_each_change_and_makes_none(az: AzureCli, group: str, tmp_path: Path) -> None:
    file = template(tmp_path, resources=[{**IDENTITY, "name": "new", "tags": {"team": "tests"}}])
    words = ("deployment", "group", "what-if", "--resource-group", group, *file)
    done = az(*words)
    assert done.returncode == 0, done.stderr
    assert "  + Microsoft.ManagedIdentity/userAssignedIdentities/new [2023-01-31]" in done.stdout.splitlines()
    assert "Resource changes: 1 to create." in done.stdout
    assert az.answer("identity", "list", "--resource-group", group) == []
    az.answer("deployment", "group", "create", "--resource-group", group, *file)
    template(tmp_path, resources=[{**IDENTITY, "name": "new", "tags": {"team": "others"}}])
    changed = az(*words).stdout
    assert '    ~ tags.team: "tests" => "others"' in changed.splitlines()
    assert "Resource changes: 1 to modify." in changed
