"""Azure Policy: an assignment that denies a value of a property, and one that adds a tag. They are faults, assigned to the whole
subscription. The part `landing-zone` of the weather assigns those of the catalog, `azure_gpu.catalog.policies`.

Order and codes: Microsoft Learn, azure-resource-manager/troubleshooting/error-policy-requestdisallowedbypolicy; that what a
policy adds is looked at by one that denies: governance/policy/concepts/effect-basics, "Order of evaluation". Read 2026-11-24.
"""

import fnmatch
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from azure_gpu.catalog.policies import Policy, everything
from azure_gpu.formats.arm_ids import ArmId
from localazure.arm import refusals
from localazure.arm.errors import ArmError
from localazure.arm.store import Body
from localazure.services import SUBSCRIPTION, Services
from localazure.weather.parts import LANDING_ZONE

_ABOVE = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization"


class DisallowedError(ArmError):
    """A refusal with the policy's evaluation beside code and message."""

    def __init__(self, message: str, target: str, info: Body) -> None:
        super().__init__(403, "RequestDisallowedByPolicy", message, target=target)
        self.info = info

    def content(self) -> dict[str, Any]:
        return {**super().content(), "additionalInfo": [{"type": "PolicyViolation", "info": self.info}]}


class _Denial(NamedTuple):
    """What an assignment denies."""

    assignment: str
    definition: str
    title: str
    property: str
    operator: str
    target: str


def apply(resource_id: ArmId, body: Body, services: Services, *, taggable: bool) -> Body:
    """`body` with the tags that policies add. DisallowedError where one denies it."""
    if services.weather.holds(LANDING_ZONE):
        for row, value in denied(resource_id.type, resource_id.name, body):
            denial = _Denial(row.assignment, row.definition, row.title, row.property, row.condition.partition("; ")[0], "")
            raise _denied(denial, resource_id, value)
    for policy in services.weather.policies:
        if not fnmatch.fnmatchcase(resource_id.key, policy.path.lower()):
            continue
        if policy.kind == "policy-tag":
            tags: Body = body.get("tags") or {}
            if taggable and policy.tag.lower() not in {name.lower() for name in tags}:
                body = {**body, "tags": {**tags, policy.tag: policy.value}}
            continue
        found, value = _at(body, policy.property)
        if found and (not policy.value or _text(value).lower() == policy.value.lower()):
            operator, target = ("Equals", policy.value) if policy.value else ("Exists", "true")
            raise _denied(_Denial(policy.name, policy.name, policy.name, policy.property, operator, target), resource_id, value)
    return body


def denied(arm_type: str, name: str, body: Body) -> Iterator[tuple[Policy, Any]]:
    """The rows of the catalog that deny a body, each with the value that it denies."""
    for row in everything():
        if row.type.lower() == arm_type.lower():
            for value in refusals.found(row.property, row.condition, body, {"name": name}):
                yield row, value


def _denied(denial: _Denial, resource_id: ArmId, value: Any) -> DisallowedError:
    assignment = f"{_ABOVE}/policyAssignments/{denial.assignment}"
    definition = f"{_ABOVE}/policyDefinitions/{denial.definition}"
    identifiers = [
        {
            "policyAssignment": {"name": denial.assignment, "id": assignment},
            "policyDefinition": {"name": denial.title, "id": definition},
        }
    ]
    shown = json.dumps(identifiers, separators=(",", ":"))
    evaluated = {
        "result": "True",
        "expressionKind": "Field",
        "expression": f"{resource_id.type}/{denial.property.removeprefix('properties.')}",
        "path": denial.property,
        "expressionValue": value,
        "operator": denial.operator,
        "targetValue": denial.target,
    }
    info = {
        "evaluationDetails": {"evaluatedExpressions": [evaluated]},
        "policyDefinitionId": definition,
        "policyDefinitionName": denial.definition,
        "policyDefinitionDisplayName": denial.title,
        "policyDefinitionEffect": "deny",
        "policyAssignmentId": assignment,
        "policyAssignmentName": denial.assignment,
        "policyAssignmentDisplayName": denial.assignment,
        "policyAssignmentScope": f"/subscriptions/{SUBSCRIPTION}",
    }
    message = f"Resource '{resource_id.name}' was disallowed by policy. Policy identifiers: '{shown}'."
    return DisallowedError(message, resource_id.name, info)


def _at(body: Any, path: str) -> tuple[bool, Any]:
    """Whether something is at a path of a body, and what."""
    for name in path.split("."):
        if not isinstance(body, dict) or name not in body:
            return False, None
        body = body[name]
    return True, body


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
