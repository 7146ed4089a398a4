"""Judges a stack's resources by policies that management groups assign, which `checkPolicyRestrictions` leaves out.

The subscription lists them. Of a definition that the catalog knows, `catalog/policies.csv`, each resource is judged here; others
deny as well, and only `validate` tells. Neither needs a right on the management group but to read an initiative; one that
can't be read is told.

Sources: Azure/azure-rest-api-specs, specification/resources/resource-manager/Microsoft.Authorization, PolicyAssignments_List,
whose filter `atScope()` gives those of the management groups that contain the subscription; Microsoft Learn, governance/policy/
concepts/assignment-structure, of `enforcementMode`, `notScopes` and parameters, and exemption-structure. Read 2026-11-30.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from azure.core.exceptions import AzureError
from azure.core.pipeline.policies import RetryPolicy

from azure_gpu.catalog.policies import everything
from azure_gpu.formats import policy_rules
from azure_gpu_operations.azure import SignIn, get_document
from azure_gpu_operations.preflight.template import Sent

API_VERSION = "2023-04-01"
EXEMPTIONS_VERSION = "2022-07-01-preview"
_MANAGEMENT_GROUPS = "/providers/microsoft.management/managementgroups/"
_PARAMETER = re.compile(r"\[parameters\('([^']+)'\)\]")
_EFFECT = "effect"
_DEFINITIONS = "/providers/Microsoft.Authorization/policyDefinitions/"

Body = Mapping[str, Any]
Read = Callable[[str], Body | None]


class Assigned(NamedTuple):
    """A definition that the catalog knows, as a management group assigns it."""

    assignment: Body
    definition: str  # its name
    initiative: str  # its id; empty: assigned by itself
    effect: str  # in lower case; empty: not known
    value: str  # of its other parameter, a list with commas


class Found(NamedTuple):
    """What the management groups assign."""

    assigned: Sequence[Assigned]
    unread: Sequence[str]  # initiatives by their assignments


def ask(login: SignIn, subscription: str, again: RetryPolicy) -> Found:
    """HttpResponseError where the assignments can't be listed."""
    above = f"/subscriptions/{subscription}/providers/Microsoft.Authorization"

    def get(path: str, version: str = API_VERSION, **query: str) -> Body:
        return get_document(path, version, login, again, **query)

    def read(path: str) -> Body | None:
        try:
            return get(path)
        except AzureError:
            return None

    at_scope = {"$filter": "atScope()"}
    listed = get(f"{above}/policyAssignments", **at_scope).get("value") or []
    ours = [each for each in listed if each["id"].lower().startswith(_MANAGEMENT_GROUPS)]
    exempt = get(f"{above}/policyExemptions", EXEMPTIONS_VERSION, **at_scope).get("value") or [] if ours else []
    return found(ours, exempt, subscription, read)


def found(assignments: Sequence[Body], exemptions: Sequence[Body], subscription: str, read: Read) -> Found:
    """Those of the assignments that hold. `read`: an initiative or definition by its id; None where it can't be read."""
    assigned: list[Assigned] = []
    unread: list[str] = []
    for each in assignments:
        properties = each["properties"]
        if not _holds(properties, subscription):
            continue
        id_, given = str(properties["policyDefinitionId"]), properties.get("parameters") or {}
        exempt = _exempt(each["id"], exemptions)
        if "/policysetdefinitions/" not in id_.lower():
            assigned += _known(each, id_, "", given, read) if exempt is None else ()
            continue
        initiative = read(id_)
        if initiative is None:
            unread.append(str(properties.get("displayName") or each["name"]))
            continue
        defaults = initiative["properties"].get("parameters") or {}
        for member in initiative["properties"]["policyDefinitions"]:
            if exempt is None or (exempt and member.get("policyDefinitionReferenceId") not in exempt):
                values = {name: {"value": _value(one, given, defaults)} for name, one in (member.get("parameters") or {}).items()}
                assigned += _known(each, member["policyDefinitionId"], id_, values, read)
    return Found(assigned, unread)


def _holds(assignment: Body, subscription: str) -> bool:
    left_out = [str(each).lower() for each in assignment.get("notScopes") or []]
    return assignment.get("enforcementMode") != "DoNotEnforce" and f"/subscriptions/{subscription}".lower() not in left_out


def _exempt(assignment: str, exemptions: Sequence[Body]) -> Sequence[str] | None:
    """The members of an initiative that the subscription is exempt from, none for all of it; None without an exemption."""
    of_it = [each["properties"] for each in exemptions if each["properties"]["policyAssignmentId"].lower() == assignment.lower()]
    if not of_it:
        return None
    members = [each.get("policyDefinitionReferenceIds") or [] for each in of_it]
    return [one for each in members for one in each] if all(members) else []


def _value(parameter: Body, given: Body, defaults: Body) -> Any:
    """The value of an initiative's member."""
    value = parameter.get("value")
    named = _PARAMETER.fullmatch(value) if isinstance(value, str) else None
    if named is None:
        return value
    return given[named[1]].get("value") if named[1] in given else (defaults.get(named[1]) or {}).get("defaultValue")


def _known(assignment: Body, definition_id: str, initiative: str, values: Body, read: Read) -> Iterator[Assigned]:
    definition = definition_id.rpartition("/")[2]
    known = next((each.definition for each in everything() if each.definition.lower() == definition.lower()), None)
    if known is None:
        return
    lowered = {name.lower(): one.get("value") for name, one in values.items()}
    effect = lowered.pop(_EFFECT, None)
    if effect is None:
        shown = read(definition_id) or {}
        parameters = {name.lower(): one for name, one in ((shown.get("properties") or {}).get("parameters") or {}).items()}
        fixed = (((shown.get("properties") or {}).get("policyRule") or {}).get("then") or {}).get("effect", "")
        effect = (parameters.get(_EFFECT) or {}).get("defaultValue") or ("" if str(fixed).startswith("[") else fixed)
    other = next(iter(lowered.values()), "")
    text = ",".join(map(str, other)) if isinstance(other, list) else str(other or "")
    yield Assigned(assignment, known, initiative, str(effect).lower(), text)


def denials(each: Assigned, sent: Sequence[Sent]) -> Iterator[tuple[Sent, dict[str, Any]]]:
    """The resources that are denied if the effect is, with what Azure would say of it."""
    if each.effect not in ("deny", ""):
        return
    properties = each.assignment["properties"]
    left_out = tuple(f"{str(one).lower()}/" for one in properties.get("notScopes") or [])
    for one in sent:
        if left_out and f"{one.id.lower()}/".startswith(left_out):
            continue
        name = one.id.rpartition("/")[2]
        body = dict(one.body)
        for denied in policy_rules.denied(one.type, name, body, each.definition, each.value):
            yield (
                one,
                {
                    "policyAssignmentId": each.assignment["id"],
                    "policyAssignmentDisplayName": properties.get("displayName") or each.assignment["name"],
                    "policyDefinitionId": f"{_DEFINITIONS}{each.definition}",
                    "policyDefinitionDisplayName": denied.row.title,
                    "policySetDefinitionId": each.initiative,
                    "evaluationDetails": {"evaluatedExpressions": [denied.expression]},
                },
            )
