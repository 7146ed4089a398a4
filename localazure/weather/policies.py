"""Azure Policy: an assignment that denies a value of a property, one that adds a tag, and one of a definition of the catalog,
`azure_gpu.catalog.policies`, with its parameter. They are faults, assigned to the whole subscription. The part `landing-zone` of
the weather assigns the catalog's definitions that have no parameter, to a management group above it.

`checkPolicyRestrictions` answers what would be denied, but not by a management group (Azure/azure-dev at 0618e1b7,
cli/azd/docs/local-preflight/storage-account-policy-check.md). Its bodies: Azure/azure-rest-api-specs f28056e1,
specification/policyinsights/resource-manager/Microsoft.PolicyInsights/stable/2022-03-01/checkPolicyRestrictions.json. The lists
of assignments and exemptions have those of the groups above: the same repository, specification/resources/resource-manager/
Microsoft.Authorization, PolicyAssignments_List. An initiative's parameters and members are as in Azure/Enterprise-Scale,
src/resources/Microsoft.Authorization/policySetDefinitions/Deny-PublicPaaSEndpoints.json.

Order and codes: Microsoft Learn, azure-resource-manager/troubleshooting/error-policy-requestdisallowedbypolicy; that what a
policy adds is looked at by one that denies: governance/policy/concepts/effect-basics, "Order of evaluation". Read 2026-11-24.
"""

import fnmatch
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from azure_gpu.catalog.policies import everything
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.policy_rules import Denied, denied
from localazure.arm.errors import ArmError, refused
from localazure.arm.store import Body
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION

LIST_VERSIONS = frozenset({"2022-06-01", "2022-07-01-preview", "2023-04-01"})
_SUBSCRIPTION = f"/subscriptions/{SUBSCRIPTION}"
_GROUP = "/providers/Microsoft.Management/managementGroups/landing-zones"
_PROVIDER = "providers/Microsoft.Authorization"
DISALLOWED = "RequestDisallowedByPolicy"
_GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class _Denial(NamedTuple):
    """What an assignment denies."""

    assignment: str
    definition: str
    title: str
    property: str
    operator: str
    target: Any
    value: Any
    above: str  # what it is assigned to


def apply(resource_id: ArmId, body: Body, services: Services, *, taggable: bool) -> Body:
    """`body` with the tags that policies add. ArmError where one denies it."""
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
        raise refused("policy: no type")
    key = f"{_SUBSCRIPTION}/{_PROVIDER}/{arm_type}/{name}".lower()
    evaluations = [
        {
            "policyInfo": {"policyDefinitionId": _definition(each), "policyAssignmentId": _assignment(each)},
            "evaluationResult": "NonCompliant",
            "evaluationDetails": {"evaluatedExpressions": [_evaluated(each, arm_type)]},
        }
        for each in _of_faults(arm_type, name.rpartition("/")[2], key, content, services)
    ]
    return {"fieldRestrictions": [], "contentEvaluationResult": {"policyEvaluations": evaluations}}


def assignments(services: Services) -> list[Body]:
    """With those of management groups; there are no exemptions."""
    of_zone = sorted(_initiatives()) if services.weather.holds("landing-zone") else []
    return [_assigned(each) for each in of_zone] + [
        _shown(
            f"{_SUBSCRIPTION}/{_PROVIDER}/policyAssignments/{each.name}",
            {"policyDefinitionId": _custom(each.definition or each.name)},
        )
        for each in services.weather.policies
        if each.kind != "policy-tag"
    ]


def initiative(segments: list[str], services: Services) -> Body | None:
    """An initiative of the landing zone's management group; None where it has none of that name."""
    name = segments[-1]
    members = _initiatives().get(name, ()) if services.weather.holds("landing-zone") else ()
    if f"/{'/'.join(segments[:-1])}".lower() != f"{_GROUP}/{_PROVIDER}/policySetDefinitions".lower() or not members:
        return None
    effects = {f"effect{number}": {"type": "String", "defaultValue": "Deny"} for number in range(len(members))}
    rows = [
        {"policyDefinitionId": _custom(each), "parameters": {"effect": {"value": f"[parameters('effect{number}')]"}}}
        for number, each in enumerate(members)
    ]
    return _shown(f"{_GROUP}/{_PROVIDER}/policySetDefinitions/{name}", {"parameters": effects, "policyDefinitions": rows})


def _initiatives() -> dict[str, list[str]]:
    """The definitions of the landing zone by their assignments."""
    found: dict[str, list[str]] = {}
    for each in everything():
        if each.in_a_landing_zone and each.definition not in found.setdefault(each.assignment, []):
            found[each.assignment].append(each.definition)
    return found


def _assigned(name: str) -> Body:
    properties = {
        "displayName": name,
        "scope": _GROUP,
        "policyDefinitionId": f"{_GROUP}/{_PROVIDER}/policySetDefinitions/{name}",
        "enforcementMode": "Default",
        "parameters": {},
        "notScopes": [],
    }
    return _shown(f"{_GROUP}/{_PROVIDER}/policyAssignments/{name}", properties)


def _shown(resource_id: str, properties: Body) -> Body:
    _, _, what = resource_id.rpartition("/providers/")
    namespace, kind, name = what.split("/")
    return {"id": resource_id, "name": name, "type": f"{namespace}/{kind}", "properties": properties}


def _custom(definition: str) -> str:
    """The id of a definition: a GUID is a built-in one's."""
    above = "" if _GUID.fullmatch(definition) else _GROUP
    return f"{above}/{_PROVIDER}/policyDefinitions/{definition}"


def _denials(arm_type: str, name: str, key: str, body: Body, services: Services) -> Iterator[_Denial]:
    """What denies a body, of the landing zone and of the faults."""
    if services.weather.holds("landing-zone"):
        for each in denied(arm_type, name, body):
            yield _of_row(each.row.assignment, each, _GROUP)
    yield from _of_faults(arm_type, name, key, body, services)


def _of_faults(arm_type: str, name: str, key: str, body: Body, services: Services) -> Iterator[_Denial]:
    for policy in services.weather.policies:
        if policy.kind == "policy-assign":
            for each in denied(arm_type, name, body, policy.definition, policy.value):
                yield _of_row(policy.name, each, _SUBSCRIPTION)
        elif policy.kind == "policy-deny" and fnmatch.fnmatchcase(key, policy.path.lower()):
            found, value = _at(body, policy.property)
            if found and (not policy.value or _text(value).lower() == policy.value.lower()):
                operator, target = ("Equals", policy.value) if policy.value else ("Exists", "true")
                yield _Denial(policy.name, policy.name, policy.name, policy.property, operator, target, value, _SUBSCRIPTION)


def _of_row(assignment: str, found: Denied, above: str) -> _Denial:
    shown, row = found.expression, found.row
    return _Denial(assignment, row.definition, row.title, found.path, shown["operator"], shown["targetValue"], found.value, above)


def _assignment(denial: _Denial) -> str:
    return f"{denial.above}/{_PROVIDER}/policyAssignments/{denial.assignment}"


def _definition(denial: _Denial) -> str:
    return f"{_SUBSCRIPTION}/{_PROVIDER}/policyDefinitions/{denial.definition}"


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


def _denied(denial: _Denial, resource_id: ArmId) -> ArmError:
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
        "policyAssignmentScope": denial.above,
    }
    message = f"Resource '{resource_id.name}' was disallowed by policy. Policy identifiers: '{shown}'."
    told = {"type": "PolicyViolation", "info": info}
    return ArmError(403, DISALLOWED, message, target=resource_id.name, info=[told])


def _at(body: Any, path: str) -> tuple[bool, Any]:
    """Whether something is at a path of a body, and what."""
    for name in path.split("."):
        if not isinstance(body, dict) or name not in body:
            return False, None
        body = body[name]
    return True, body


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
