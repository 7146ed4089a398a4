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
LOCATIONS, TAGS = "e56962a6-4747-49cd-b67b-bf8b01975c4c", "96670d01-0a4d-4649-9c89-2d3abc0a5025"
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


ASSIGNED = {  # by the subjects of the rows: the fault, and what answers it
    "landing zone": (
        {"foundation.registry", "foundation.storage"},
        {"kind": "weather", "name": "landing-zone"},
        "set foundation.network: private",
    ),
    "regions": (
        {"foundation.registry"},
        {"kind": "policy-assign", "name": "EU", "definition": LOCATIONS, "value": "westus, northeurope"},
        "set location, ",
    ),
    "tags": (
        {"foundation.resource_group"},
        {"kind": "policy-assign", "name": "T", "definition": TAGS, "value": "cost"},
        "set tags, ",
    ),
    "tags that are there": (set(), {"kind": "policy-assign", "name": "T", "definition": TAGS, "value": "team"}, ""),
}


@pytest.mark.parametrize("name", ASSIGNED)
def test_policies_are_asked_without_a_word_and_answered_by_a_key(
    connected: EmbeddedAzure, preflight: Run, folder: Path, name: str
) -> None:
    subjects, fault, fix = ASSIGNED[name]
    connected.fault(**fault)
    code, told = preflight("--stack", "mine", "--config-folder", str(folder))
    rows = [each for each in told["rows"] if each["check"] == "policy" and each["answer"] == "refused"]
    assert (subjects <= {each["subject"] for each in rows}, bool(rows)) == (True, bool(subjects)), told
    assert all(each["fix"].startswith(fix) for each in rows if each["subject"] in subjects)
    groups = [each for each in told["rows"] if each["check"] == "policy" and each["answer"] == "unknown"]
    assert [each["subject"] for each in groups] == (["clusters.gpu"] if name.startswith("tags") else [])
    assert code == 1 or not rows


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
