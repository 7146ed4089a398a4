"""Azure Policy: an assignment that denies a value of a property, one that adds a tag, and one of a definition of the catalog,
`azure_gpu.catalog.policies`, with its parameter. They are faults, assigned to the whole subscription. The part `landing-zone` of
the weather assigns the catalog's definitions that have no parameter.

`checkPolicyRestrictions` answers what would be denied. Its bodies: Azure/azure-rest-api-specs f28056e1,
specification/policyinsights/resource-manager/Microsoft.PolicyInsights/stable/2022-03-01/checkPolicyRestrictions.json.

Order and codes: Microsoft Learn, azure-resource-manager/troubleshooting/error-policy-requestdisallowedbypolicy; that what a
policy adds is looked at by one that denies: governance/policy/concepts/effect-basics, "Order of evaluation". Read 2026-11-24.
"""

import fnmatch
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from azure_gpu.catalog.policies import PARAMETER, Policy, everything
from azure_gpu.formats.arm_ids import ArmId
from localazure.arm import refusals
from localazure.arm.errors import ArmError
from localazure.arm.store import Body
from localazure.services import SUBSCRIPTION, Services
from localazure.weather.parts import LANDING_ZONE

API_VERSIONS = frozenset({"2020-07-01", "2022-03-01"})
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
    target: Any
    value: Any


def apply(resource_id: ArmId, body: Body, services: Services, *, taggable: bool) -> Body:
    """`body` with the tags that policies add. DisallowedError where one denies it."""
    for policy in services.weather.policies:
        if policy.kind == "policy-tag" and taggable and fnmatch.fnmatchcase(resource_id.key, policy.path.lower()):
            tags: Body = body.get("tags") or {}
            if policy.tag.lower() not in {name.lower() for name in tags}:
                body = {**body, "tags": {**tags, policy.tag: policy.value}}
    for denial in _denials(resource_id.type, resource_id.name, resource_id.key, body, services):
        raise _denied(denial, resource_id)
    return body


def restrictions(request: Body, services: Services) -> Body:
    """The answer of `checkPolicyRestrictions`: what would be denied of a resource's content."""
    details = request.get("resourceDetails")
    content: Body = details.get("resourceContent") or {} if isinstance(details, dict) else {}
    arm_type, name = str(content.get("type", "")), str(content.get("name", ""))
    if not arm_type:
        raise ArmError(400, "InvalidCheckRestrictionsRequest", "The resource content has no 'type'.")
    key = f"{_ABOVE}/{arm_type}/{name}".lower()
    evaluations = [
        {
            "policyInfo": {"policyDefinitionId": _definition(each), "policyAssignmentId": _assignment(each)},
            "evaluationResult": "NonCompliant",
            "evaluationDetails": {"evaluatedExpressions": [_evaluated(each, arm_type)]},
        }
        for each in _denials(arm_type, name.rpartition("/")[2], key, content, services)
    ]
    return {"fieldRestrictions": [], "contentEvaluationResult": {"policyEvaluations": evaluations}}


def _denials(arm_type: str, name: str, key: str, body: Body, services: Services) -> Iterator[_Denial]:
    """What denies a body, of the landing zone and of the faults."""
    if services.weather.holds(LANDING_ZONE):
        for row, value in denied(arm_type, name, body):
            yield _of_row(row.assignment, row, row.property, value)
    for policy in services.weather.policies:
        if policy.kind == "policy-assign":
            for row, value in denied(arm_type, name, body, policy.definition, policy.value):
                yield _of_row(policy.name, row, row.property.replace(PARAMETER, policy.value), value)
        elif policy.kind == "policy-deny" and fnmatch.fnmatchcase(key, policy.path.lower()):
            found, value = _at(body, policy.property)
            if found and (not policy.value or _text(value).lower() == policy.value.lower()):
                operator, target = ("Equals", policy.value) if policy.value else ("Exists", "true")
                yield _Denial(policy.name, policy.name, policy.name, policy.property, operator, target, value)


def denied(arm_type: str, name: str, body: Body, definition: str = "", value: str = "") -> Iterator[tuple[Policy, Any]]:
    """The rows of the catalog that deny a body, each with the value that it denies: those without a parameter, or those of a
    definition, whose parameter is `value`, a list with commas."""
    facts: Body = {"name": name, "allowed": [each.strip() for each in value.split(",")]}
    for row in everything():
        if (row.is_of(definition) if definition else not row.parametrized) and row.concerns(arm_type):
            for found in refusals.found(row.property.replace(PARAMETER, value), row.condition, body, facts):
                yield row, found


def _of_row(assignment: str, row: Policy, at: str, value: Any) -> _Denial:
    return _Denial(assignment, row.definition, row.title, at, row.condition.partition("; ")[0], "", value)


def _assignment(denial: _Denial) -> str:
    return f"{_ABOVE}/policyAssignments/{denial.assignment}"


def _definition(denial: _Denial) -> str:
    return f"{_ABOVE}/policyDefinitions/{denial.definition}"


def _evaluated(denial: _Denial, arm_type: str) -> Body:
    of_all = denial.property.partition(".")[0] in ("location", "tags")
    return {
        "result": "True",
        "expressionKind": "Field",
        "expression": denial.property if of_all else f"{arm_type}/{denial.property.removeprefix('properties.')}",
        "path": denial.property,
        "expressionValue": denial.value,
        "operator": denial.operator,
        "targetValue": denial.target,
    }


def _denied(denial: _Denial, resource_id: ArmId) -> DisallowedError:
    assignment, definition = _assignment(denial), _definition(denial)
    identifiers = [
        {
            "policyAssignment": {"name": denial.assignment, "id": assignment},
            "policyDefinition": {"name": denial.title, "id": definition},
        }
    ]
    shown = json.dumps(identifiers, separators=(",", ":"))
    info = {
        "evaluationDetails": {"evaluatedExpressions": [_evaluated(denial, resource_id.type)]},
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
