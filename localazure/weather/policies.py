"""Azure Policy: an assignment that denies a value of a property, and one that adds a tag. They are faults, assigned to the whole
subscription.

Order and codes: Microsoft Learn, azure-resource-manager/troubleshooting/error-policy-requestdisallowedbypolicy; that what a
policy adds is looked at by one that denies: governance/policy/concepts/effect-basics, "Order of evaluation". Read 2026-11-24.
"""

import fnmatch
import json
from typing import Any

from azure_gpu.formats.arm_ids import ArmId
from localazure.arm.errors import ArmError
from localazure.arm.store import Body
from localazure.fault import Fault
from localazure.services import SUBSCRIPTION, Services

_ABOVE = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization"


class DisallowedError(ArmError):
    """A refusal with the policy's evaluation beside code and message."""

    def __init__(self, message: str, target: str, info: Body) -> None:
        super().__init__(403, "RequestDisallowedByPolicy", message, target=target)
        self.info = info

    def content(self) -> dict[str, Any]:
        return {**super().content(), "additionalInfo": [{"type": "PolicyViolation", "info": self.info}]}


def apply(resource_id: ArmId, body: Body, services: Services, *, taggable: bool) -> Body:
    """`body` with the tags that policies add. DisallowedError where one denies it."""
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
            raise _denied(policy, resource_id, value)
    return body


def _denied(policy: Fault, resource_id: ArmId, value: Any) -> DisallowedError:
    assignment, definition = f"{_ABOVE}/policyAssignments/{policy.name}", f"{_ABOVE}/policyDefinitions/{policy.name}"
    identifiers = [
        {
            "policyAssignment": {"name": policy.name, "id": assignment},
            "policyDefinition": {"name": policy.name, "id": definition},
        }
    ]
    shown = json.dumps(identifiers, separators=(",", ":"))
    evaluated = {
        "result": "True",
        "expressionKind": "Field",
        "expression": f"{resource_id.type}/{policy.property.removeprefix('properties.')}",
        "path": policy.property,
        "expressionValue": value,
        "operator": "Equals" if policy.value else "Exists",
        "targetValue": policy.value or "true",
    }
    info = {
        "evaluationDetails": {"evaluatedExpressions": [evaluated]},
        "policyDefinitionId": definition,
        "policyDefinitionName": policy.name,
        "policyDefinitionDisplayName": policy.name,
        "policyDefinitionEffect": "deny",
        "policyAssignmentId": assignment,
        "policyAssignmentName": policy.name,
        "policyAssignmentDisplayName": policy.name,
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
