"""Judges a stack's resources by policies that management groups assign, which `checkPolicyRestrictions` leaves out.

The subscription lists them. Of a definition that the catalog knows, `catalog/policies.csv`, each resource is judged here; others
deny as well, and only `validate` tells. Neither needs a right on the management group but to read an initiative; one that
can't be read is told. One definition that changes what is sent is known, too: it adds the company's DDoS plan to each network,
and who creates the network has to be allowed to join the plan. And two initiatives that landing zones assign by default break
clusters, by what AKS makes of them or puts on them.

Sources: Azure/azure-rest-api-specs, specification/resources/resource-manager/Microsoft.Authorization, PolicyAssignments_List,
whose filter `atScope()` gives those of the management groups that contain the subscription; Microsoft Learn, governance/policy/
concepts/assignment-structure, of `enforcementMode`, `notScopes` and parameters, and exemption-structure. Read 2026-11-30. Of
plans: Azure/azure-policy, policyDefinitions/Network/VirtualNetworkDdosStandard_Audit.json at f4a50bac, which Enterprise-Scale
assigns by default; Azure/Enterprise-Scale issue 1053 (2022-09-16); the right: the specification of Microsoft.Authorization
2022-04-01, Permissions_ListForResource. Of clusters: Azure/Azure-Landing-Zones-Library at faae8ccf, platform/alz/
policy_assignments; Azure/azure-policy at f4a50bac, policySetDefinitions/Security Center/MCSBv2.json, whose patterns no image and
no port matches, and Monitoring/AzureMonitor_VMSS_AMA_new.json; Azure/Azure-Landing-Zones issue 2600 (2025-04-16).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from azure.core.exceptions import AzureError
from azure.core.pipeline.policies import RetryPolicy

from azure_gpu.catalog.policies import everything
from azure_gpu.formats import azure_types, policy_rules
from azure_gpu_operations.azure import SignIn, get_document
from azure_gpu_operations.preflight.answers import allows
from azure_gpu_operations.preflight.lists import PERMISSIONS_VERSION, Permission
from azure_gpu_operations.preflight.template import Sent

API_VERSION = "2023-04-01"
EXEMPTIONS_VERSION = "2022-07-01-preview"
_MANAGEMENT_GROUPS = "/providers/microsoft.management/managementgroups/"
_PARAMETER = re.compile(r"\[parameters\('([^']+)'\)\]")
_EFFECT = "effect"
ADDS_PLAN = "94de2ad3-e0c1-4caf-ad78-5d47bbc83d3d"
JOIN_PLAN = "Microsoft.Network/ddosProtectionPlans/join/action"
_DEFINITIONS = "/providers/Microsoft.Authorization/policyDefinitions/"
BENCHMARK, MONITORING = "e3ec7e09-768c-4b64-882c-fcada3772047", "f5bf694c-cca7-4033-b883-3a23327d5485"  # initiatives
# What each does to a cluster, and what to ask the assignment's owner for.
_OF_CLUSTERS = {
    BENCHMARK: (
        "lets no image and no port of a service pass on the cluster",
        "an exemption of ensureAllowedContainerImagesInKubernetesCluster and allowedServicePortsInKubernetesCluster",
    ),
    MONITORING: (
        "installs the Dependency agent on the nodes of AKS, and users report that clusters fail by it",
        "enableProcessesAndDependencies: false, or an exemption",
    ),
}
_ON_ALL_IMAGES = {"enableprocessesanddependencies": True, "scopetosupportedimages": False}

Body = Mapping[str, Any]
Read = Callable[..., Body | None]  # of a path, and a version where it isn't `API_VERSION`


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
    plans: Mapping[str, bool | None]  # DDoS plans by their ids, and whether this login may join them; None: not known
    of_clusters: Sequence[Assigned]  # initiatives that break clusters, without exemption


def ask(login: SignIn, subscription: str, again: RetryPolicy) -> Found:
    """HttpResponseError where the assignments can't be listed."""
    above = f"/subscriptions/{subscription}/providers/Microsoft.Authorization"

    def get(path: str, version: str = API_VERSION, **query: str) -> Body:
        return get_document(path, version, login, again, **query)

    def read(path: str, version: str = API_VERSION) -> Body | None:
        try:
            return get(path, version)
        except AzureError:
            return None

    at_scope = {"$filter": "atScope()"}
    listed = get(f"{above}/policyAssignments", **at_scope).get("value") or []
    ours = [each for each in listed if each["id"].lower().startswith(_MANAGEMENT_GROUPS) or _adds_plan(each)]
    exempt = get(f"{above}/policyExemptions", EXEMPTIONS_VERSION, **at_scope).get("value") or [] if ours else []
    return found(ours, exempt, subscription, read)


def found(assignments: Sequence[Body], exemptions: Sequence[Body], subscription: str, read: Read) -> Found:
    """Those of the assignments that hold. `read`: an initiative or definition by its id; None where it can't be read."""
    assigned: list[Assigned] = []
    unread: list[str] = []
    of_clusters: list[Assigned] = []
    for each in assignments:
        properties = each["properties"]
        if not _holds(properties, subscription):
            continue
        id_, given = str(properties["policyDefinitionId"]), properties.get("parameters") or {}
        exempt = _exempt(each["id"], exemptions)
        if "/policysetdefinitions/" not in id_.lower():
            assigned += _known(each, id_, "", given, read) if exempt is None else ()
            continue
        if exempt is None and _breaks_clusters(id_, given):
            of_clusters.append(Assigned(each, id_.rpartition("/")[2].lower(), id_, "", ""))
        initiative = read(id_)
        if initiative is None:
            unread.append(str(properties.get("displayName") or each["name"]))
            continue
        defaults = initiative["properties"].get("parameters") or {}
        for member in initiative["properties"]["policyDefinitions"]:
            if exempt is None or (exempt and member.get("policyDefinitionReferenceId") not in exempt):
                values = {name: {"value": _value(one, given, defaults)} for name, one in (member.get("parameters") or {}).items()}
                assigned += _known(each, member["policyDefinitionId"], id_, values, read)
    plans = {each.value for each in assigned if each.definition == ADDS_PLAN and each.effect in ("modify", "")}
    return Found(assigned, unread, {each: _may_join(each, read) for each in sorted(plans)}, of_clusters)


def _breaks_clusters(initiative: str, given: Body) -> bool:
    name = initiative.rpartition("/")[2].lower()
    values = {key.lower(): one.get("value") for key, one in given.items()}
    return name == BENCHMARK or (name == MONITORING and _ON_ALL_IMAGES.items() <= values.items())


def _adds_plan(assignment: Body) -> bool:
    return str(assignment["properties"]["policyDefinitionId"]).lower().endswith(f"/{ADDS_PLAN}")


def _may_join(plan: str, read: Read) -> bool | None:
    shown = read(f"{plan}/providers/Microsoft.Authorization/permissions", PERMISSIONS_VERSION) if plan else None
    if shown is None:
        return None
    permissions = [Permission(tuple(each.get("actions") or ()), tuple(each.get("notActions") or ())) for each in shown["value"]]
    return any(allows(each, JOIN_PLAN) for each in permissions)


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
    names = (ADDS_PLAN, *(each.definition for each in everything()))
    known = next((each for each in names if each.lower() == definition.lower()), None)
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


def _concerned(each: Assigned, sent: Sequence[Sent]) -> Iterator[Sent]:
    left_out = tuple(f"{str(one).lower()}/" for one in each.assignment["properties"].get("notScopes") or [])
    return (one for one in sent if not left_out or not f"{one.id.lower()}/".startswith(left_out))


def networks(each: Assigned, sent: Sequence[Sent]) -> list[Sent]:
    """The networks to which an assignment adds a DDoS plan, `each.value`."""
    if each.definition != ADDS_PLAN or each.effect not in ("modify", ""):
        return []
    return [one for one in _concerned(each, sent) if one.type == azure_types.VIRTUAL_NETWORK.arm_type]


def clusters(each: Assigned, sent: Sequence[Sent]) -> Iterator[tuple[Sent, str, str]]:
    """The clusters that such an initiative breaks, how, and what to ask for. The benchmark works by AKS's policy add-on."""
    for one in _concerned(each, sent):
        addon = ((one.body.get("properties") or {}).get("addonProfiles") or {}).get("azurepolicy") or {}
        if one.type == azure_types.MANAGED_CLUSTER.arm_type and (each.definition == MONITORING or addon.get("enabled")):
            yield (one, *_OF_CLUSTERS[each.definition])


def denials(each: Assigned, sent: Sequence[Sent]) -> Iterator[tuple[Sent, dict[str, Any]]]:
    """The resources that are denied if the effect is, with what Azure would say of it."""
    if each.effect not in ("deny", "") or each.definition == ADDS_PLAN:
        return
    properties = each.assignment["properties"]
    for one in _concerned(each, sent):
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
