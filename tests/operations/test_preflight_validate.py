"""`preflight --validate`: a stack's bodies as a template that Resource Manager judges, and its refusals in words."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from azure_gpu_operations.preflight import validation
from azure_gpu_operations.preflight.template import Template
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure
from tests.support.preflight import Run

GROUPS = "2024-03-01"
STACK = (Path(__file__).parent / "validated.yaml").read_text(encoding="utf-8")


Judged = Callable[[], tuple[int, list[dict[str, Any]], dict[str, str]]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.mine.yaml").write_text(STACK)
    return tmp_path


@pytest.fixture
def judged(recorded_here: None, folder: Path, preflight: Run) -> Judged:
    """What `--validate` answers: exit code, the rows of the two checks, and what is missing."""

    def run() -> tuple[int, list[dict[str, Any]], dict[str, str]]:
        code, told = preflight("--stack", "mine", "--config-folder", str(folder), "--validate")
        return code, [each for each in told["rows"] if each["check"] in ("validate", "policy")], told["missing"]

    return run


def test_a_whole_stack_is_taken_and_nothing_is_made(connected: EmbeddedAzure, folder: Path, judged: Judged) -> None:
    code, rows, missing = judged()
    assert [each["answer"] for each in rows] == ["ok"], rows
    assert missing == {}
    assert re.search(r"not sent: \d+ objects of Kubernetes$", rows[0]["message"]), rows[0]
    groups = connected.get(f"/subscriptions/{SUBSCRIPTION}/resourceGroups", GROUPS).json()["value"]
    assert [each for each in groups if each["name"].startswith("azure-gpu-vision")] == []
    assert code in (0, 1, 3)  # the other checks have answers of their own: the quota of an environment to come isn't known


def test_a_policy_is_told_with_its_assignment_the_property_and_the_key(
    connected: EmbeddedAzure, folder: Path, judged: Judged
) -> None:
    denied = {"property": "properties.publicNetworkAccess", "value": "Enabled", "path": "*/registries/*"}
    connected.fault("policy-deny", name="no-public", **denied)
    code, [row], _ = judged()
    assert (code, row["subject"], row["check"], row["answer"]) == (1, "foundation.registry", "policy", "refused")
    assert "policy assignment 'no-public' denies Microsoft.ContainerRegistry/registries" in row["message"]
    assert 'properties.publicNetworkAccess: the stack sets "Enabled"' in row["message"]
    assert "/policyAssignments/no-public" in row["message"]
    assert "foundation.registry.overrides: {publicNetworkAccess: …}" in row["fix"]


def test_what_a_service_refuses_is_told_with_its_code(connected: EmbeddedAzure, folder: Path, judged: Judged) -> None:
    file = folder / "Pulumi.mine.yaml"
    file.write_text(file.read_text().replace("cpu: 1,", "overrides: {restartPolicy: 5}, cpu: 1,"))
    code, [row], _ = judged()
    assert (code, row["subject"]) == (1, "container_groups.web")
    assert row["message"].startswith("InvalidRequestContent: ")


def test_a_budget_is_judged_at_its_group_and_told_with_its_key(connected: EmbeddedAzure, folder: Path, judged: Judged) -> None:
    file = folder / "Pulumi.mine.yaml"
    head = STACK.partition("  azure-gpu:budget:")[0]
    file.write_text(f"{head}  azure-gpu:budget: {{monthly_usd: 500}}\n")
    assert [each["answer"] for each in judged()[1]] == ["ok"]
    file.write_text(f"{head}  azure-gpu:budget: {{monthly_usd: 500, overrides: {{amount: much}}}}\n")
    code, [row], _ = judged()
    assert (code, row["subject"]) == (1, "budget")
    assert row["message"].startswith("InvalidRequestContent: ")


def test_without_the_right_to_ask_the_answer_is_incomplete(connected: EmbeddedAzure, folder: Path, judged: Judged) -> None:
    connected.fault("fail", path="*/validate", status=403, code="AuthorizationFailed", count=0)
    _, rows, missing = judged()
    assert rows == []
    assert "AuthorizationFailed" in missing[validation.NEEDED]


def test_a_refusal_with_nothing_but_a_message_names_the_assignment_too() -> None:
    """As Azure-Samples/azure-search-openai-demo issue 120 shows one."""
    identifiers = [{"policyAssignment": {"name": "Not allowed resource types", "id": "/s/policyAssignments/1"},
                    "policyDefinition": {"name": "Not allowed", "id": "/policyDefinitions/2"}}]  # fmt: skip
    message = f"Resource 'x' was disallowed by policy. Policy identifiers: '{json.dumps(identifiers)}'."
    error = {"code": "InvalidTemplateDeployment", "message": "…", "details": [
        {"code": "RequestDisallowedByPolicy", "target": "x", "message": message}]}  # fmt: skip
    nothing: Any = None
    [row] = validation.rows(validation.Validated(400, error), Template({}, "westeurope", (), ()), nothing, "mine")
    assert "'Not allowed resource types'" in row.message
    assert "definition 'Not allowed'" in row.message
    assert "/s/policyAssignments/1" in row.message
