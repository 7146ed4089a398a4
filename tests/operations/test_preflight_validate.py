"""`preflight --validate`: refusals of Resource Manager in words. What it asks and answers is in `preflights.yaml`."""

import json
from typing import Any

from azure_gpu_operations.preflight import validation
from azure_gpu_operations.preflight.template import Template


def test_a_refusal_with_nothing_but_a_message_names_the_assignment_too() -> None:
    """As Azure-Samples/azure-search-openai-demo issue 120 shows one."""
    identifiers = [{"policyAssignment": {"name": "Not allowed resource types", "id": "/s/policyAssignments/1"},
                    "policyDefinition": {"name": "Not allowed", "id": "/policyDefinitions/2"}}]  # fmt: skip
    message = f"Resource 'x' was disallowed by policy. Policy identifiers: '{json.dumps(identifiers)}'."
    error = {"code": "InvalidTemplateDeployment", "message": "…", "details": [
        {"code": "RequestDisallowedByPolicy", "target": "x", "message": message}]}  # fmt: skip
    nothing: Any = None
    [row] = validation.rows(error, Template({}, "westeurope", (), ()), nothing, "mine")
    assert "'Not allowed resource types'" in row.message
    assert "definition 'Not allowed'" in row.message
    assert "/s/policyAssignments/1" in row.message
