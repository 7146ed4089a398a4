"""`preflight`: policies that management groups assign hold as their assignments, initiatives and exemptions say."""

from typing import Any

import pytest

from azure_gpu_operations.preflight import management_groups, restrictions
from azure_gpu_operations.preflight.rows import Answer
from azure_gpu_operations.preflight.template import Sent

GROUP = "/providers/Microsoft.Management/managementGroups/corp/providers/Microsoft.Authorization"
BUILT_IN = "/providers/Microsoft.Authorization/policyDefinitions/"
REGISTRY, LOCATIONS = "0fdf0491-d080-4575-b627-ad0e843cba0f", "e56962a6-4747-49cd-b67b-bf8b01975c4c"
SET = f"{GROUP}/policySetDefinitions/Closed"
RESOURCES = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerRegistry/registries/r"
NOTHING: Any = None
SENT = [Sent(RESOURCES, "Microsoft.ContainerRegistry/registries", {"location": "westeurope", "properties": {}}, NOTHING)]


def _assignment(definition: str, parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    properties = {
        "policyDefinitionId": definition,
        "parameters": {name: {"value": it} for name, it in parameters.items()},
        **more,
    }
    return {"id": f"{GROUP}/policyAssignments/closed", "name": "closed", "properties": properties}


def _initiative(default: str) -> dict[str, Any]:
    member = {
        "policyDefinitionId": BUILT_IN + REGISTRY,
        "policyDefinitionReferenceId": "acr",
        "parameters": {"effect": {"value": "[parameters('acrEffect')]"}},
    }
    return {"properties": {"parameters": {"acrEffect": {"defaultValue": default}}, "policyDefinitions": [member]}}


def _exemption(*members: str) -> dict[str, Any]:
    assigned = f"{GROUP}/policyAssignments/closed".upper()
    return {"properties": {"policyAssignmentId": assigned, "policyDefinitionReferenceIds": list(members)}}


OF_SET = _assignment(SET, {})
READ = {
    SET: _initiative("Deny"),
    BUILT_IN + REGISTRY: {"properties": {"parameters": {"effect": {"defaultValue": "Audit"}}, "policyRule": {}}},
    BUILT_IN + LOCATIONS: {"properties": {"parameters": {}, "policyRule": {"then": {"effect": "deny"}}}},
}
ALLOWED = {"listOfAllowedLocations": ["swedencentral", "northeurope"]}
# What is assigned, what the subscription is exempt from, what can be read, and the properties that are denied.
CASES: dict[str, tuple[dict[str, Any], list[Any], dict[str, Any], list[str]]] = {
    "by an initiative's default": (OF_SET, [], READ, ["properties.publicNetworkAccess"]),
    "an initiative that audits": (_assignment(SET, {"acrEffect": "Audit"}), [], READ, []),
    "an assignment that doesn't enforce": (_assignment(SET, {}, enforcementMode="DoNotEnforce"), [], READ, []),
    "a subscription that is left out": (_assignment(SET, {}, notScopes=["/subscriptions/S"]), [], READ, []),
    "a group that is left out": (_assignment(SET, {}, notScopes=["/subscriptions/s/resourceGroups/G"]), [], READ, []),
    "another group of the same beginning": (
        _assignment(SET, {}, notScopes=["/subscriptions/s/resourceGroups/g2"]),
        [],
        READ,
        ["properties.publicNetworkAccess"],
    ),
    "an exemption from all of it": (OF_SET, [_exemption()], READ, []),
    "an exemption from the member": (OF_SET, [_exemption("acr")], READ, []),
    "an exemption from another member": (OF_SET, [_exemption("kv")], READ, ["properties.publicNetworkAccess"]),
    "a definition by itself, which audits by default": (_assignment(BUILT_IN + REGISTRY, {}), [], READ, []),
    "a definition by itself": (_assignment(BUILT_IN + REGISTRY, {"effect": "Deny"}), [], {}, ["properties.publicNetworkAccess"]),
    "a parameter": (_assignment(BUILT_IN + LOCATIONS, ALLOWED), [], READ, ["location"]),
    "a parameter that allows it": (_assignment(BUILT_IN + LOCATIONS, {"l": ["westeurope"]}), [], READ, []),
    "a definition that nobody knows": (_assignment(f"{GROUP}/policyDefinitions/Own", {}), [], READ, []),
}


PLAN = "/subscriptions/hub/resourceGroups/net/providers/Microsoft.Network/ddosProtectionPlans/company"
NETWORK = Sent(
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v",
    "Microsoft.Network/virtualNetworks",
    {},
    NOTHING,
)
# The effect, what is left out, what the login may do with the plan, and what `preflight` answers.
PLANS: dict[str, tuple[str, str, list[str] | None, list[Answer]]] = {
    "a login that may not join it": ("Modify", "", ["*/read"], [Answer.NO_RIGHT]),
    "one that may": ("Modify", "", ["Microsoft.Network/*"], []),
    "one that may not ask": ("Modify", "", None, [Answer.UNKNOWN]),
    "a group that is left out": ("Modify", "/subscriptions/s/resourceGroups/g", ["*/read"], []),
    "an assignment that audits": ("Audit", "", ["*/read"], []),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_that_a_policy_adds_to_a_network_has_to_be_joined(name: str) -> None:
    effect, left_out, actions, expected = PLANS[name]
    assignment = _assignment(
        BUILT_IN + management_groups.ADDS_PLAN, {"effect": effect, "ddosPlan": PLAN}, notScopes=[left_out] if left_out else []
    )
    rights = None if actions is None else {"value": [{"actions": actions}]}
    found = management_groups.found([assignment], [], "s", lambda path, _: rights if path.startswith(PLAN) else None)
    rows = list(restrictions.rows_above(found, [NETWORK, *SENT], NOTHING, "stack"))
    assert [each.answer for each in rows] == expected
    assert all(each.subject == "v" and PLAN in each.message for each in rows)


SETS = "/providers/Microsoft.Authorization/policySetDefinitions/"
ALL_IMAGES = {"enableProcessesAndDependencies": True, "scopeToSupportedImages": False}
# The initiative, its parameters, the exemptions, and whether a cluster without and one with the policy add-on is told.
OF_CLUSTERS: dict[str, tuple[str, dict[str, Any], list[Any], list[str]]] = {
    "the benchmark": (management_groups.BENCHMARK, {}, [], ["with"]),
    "the benchmark, exempt": (management_groups.BENCHMARK, {}, [_exemption("x")], []),
    "agents on all images": (management_groups.MONITORING, ALL_IMAGES, [], ["without", "with"]),
    "agents on some images": (management_groups.MONITORING, {**ALL_IMAGES, "scopeToSupportedImages": True}, [], []),
    "another": ("1f3afdf9-d0c9-4c3d-847f-89da613e70a8", ALL_IMAGES, [], []),
}


@pytest.mark.parametrize("name", OF_CLUSTERS)
def test_initiatives_that_break_clusters_are_told(name: str) -> None:
    initiative, parameters, exemptions, expected = OF_CLUSTERS[name]
    kind = "Microsoft.ContainerService/managedClusters"
    addons = {"without": {}, "with": {"addonProfiles": {"azurepolicy": {"enabled": True}}}}
    sent = [
        Sent(f"/subscriptions/s/resourceGroups/g/providers/{kind}/{key}", kind, {"properties": body}, NOTHING)
        for key, body in addons.items()
    ]
    found = management_groups.found([_assignment(SETS + initiative.upper(), parameters)], exemptions, "s", lambda _: None)
    rows = [each for each in restrictions.rows_above(found, [*sent, *SENT], NOTHING, "stack") if each.subject != "stack"]
    assert [each.subject for each in rows] == expected
    assert {each.answer for each in rows} <= {Answer.UNKNOWN}


@pytest.mark.parametrize("name", CASES)
def test_what_is_assigned_above_denies_as_it_says(name: str) -> None:
    assignment, exemptions, readable, expected = CASES[name]
    found = management_groups.found([assignment], exemptions, "s", readable.get)
    denied = [info for each in found.assigned for _, info in management_groups.denials(each, SENT)]
    assert [info["evaluationDetails"]["evaluatedExpressions"][0]["path"] for info in denied] == expected
    assert {each.effect for each in found.assigned} <= {"deny", "audit"}
    assert {info["policyAssignmentId"] for info in denied} <= {assignment["id"]}


def test_what_cannot_be_read_is_told() -> None:
    nothing: dict[str, Any] = {}
    unread = management_groups.found([OF_SET], [], "s", nothing.get)
    assert (unread.assigned, unread.unread) == ([], ["closed"])
    [effectless] = management_groups.found([_assignment(BUILT_IN + REGISTRY, {})], [], "s", nothing.get).assigned
    assert effectless.effect == ""
    assert len(list(management_groups.denials(effectless, SENT))) == 1
