"""Asks Azure Policy about each of a stack's resources, by `checkPolicyRestrictions` of the subscription. It makes nothing.
Policies of management groups aren't in that answer, and judged by what the catalog knows of them: `preflight.management_groups`.

A denial is a row with assignment, property and the key of the stack file. Policies about pods aren't asked: nobody evaluates them
but a cluster. So what is privileged on the clusters is told with the exclusion that it needs where such policies are assigned.

Sources: Azure/azure-rest-api-specs f28056e1, specification/policyinsights/resource-manager/Microsoft.PolicyInsights/stable/
2022-03-01/checkPolicyRestrictions.json, which answers what would be denied as it is. That policies of a management group aren't
in the answer, and that Reader may ask: Azure/azure-dev at 0618e1b7, cli/azd/docs/local-preflight/
storage-account-policy-check.md (tried in March and April 2026, in 2022-03-01 and 2024-10-01). That a child is understood by its
type and the names above it is assumed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from azure.core.pipeline.policies import RetryPolicy

from azure_gpu.catalog.policies import GROUPS
from azure_gpu.formats import arm_bodies, azure_types
from azure_gpu.formats.azure_types import BY_TOKEN
from azure_gpu_operations.azure import SignIn, post_document
from azure_gpu_operations.graph.recorded import Recorded
from azure_gpu_operations.preflight import management_groups, validation
from azure_gpu_operations.preflight.fetching import LIMIT_SECONDS, fetch, retries
from azure_gpu_operations.preflight.rows import Answer, Row
from azure_gpu_operations.preflight.template import Sent

CHECK = "policies"
PODS = "privileged pods"
API_VERSION = "2022-03-01"
_AT_ONCE = 8
_OTHERS = "other definitions of management groups are judged by --validate"

Denial = tuple[Sent, Mapping[str, Any]]


def check(
    found: Callable[[], Recorded], login: SignIn, subscription: str, stack: str, limit_seconds: float = LIMIT_SECONDS
) -> tuple[list[Row], dict[str, str]]:
    """Rows, and why there are none. `found`: what the stack's program declares."""
    prepared = validation.prepared(found, login, subscription)
    if isinstance(prepared, str):
        return [], {CHECK: prepared}
    recorded, sent = prepared[0], prepared[1].sent
    asked = [*sent, *_node_groups(sent)]
    parts = [asked[number::_AT_ONCE] for number in range(min(_AT_ONCE, len(asked)))]
    readers = {number: partial(_denials, login, subscription, part, retries()) for number, part in enumerate(parts)}
    outcomes = fetch(readers, limit_seconds=limit_seconds).values()
    denials = [denial for outcome in outcomes for denial in outcome.value or ()]
    [above] = fetch({CHECK: partial(_above, login, subscription)}, limit_seconds=limit_seconds).values()
    missing = next((outcome.missing for outcome in (*outcomes, above) if outcome.missing), "")
    rows = [*(_row(each, info, recorded) for each, info in denials), *rows_above(above.value, asked, recorded, stack)]
    if not rows and not missing:
        known = len({each.definition for each in above.value.assigned}) if above.value else 0
        message = f"no policy of the subscription denies any of {len(sent)} resources"
        message += f", nor any of {known} known definitions of its management groups; {_OTHERS}" if known else f"; {_OTHERS}"
        rows.append(Row(stack, CHECK, Answer.OK, message))
    return [*dict.fromkeys(rows), *pods(recorded)], {CHECK: missing} if missing else {}


def _above(login: SignIn, subscription: str) -> management_groups.Found:
    return management_groups.ask(login, subscription, retries())


def rows_above(found: management_groups.Found | None, sent: Sequence[Sent], recorded: Recorded, stack: str) -> Iterator[Row]:
    """What management groups deny; unknown where the effect or an initiative couldn't be read."""
    if found is None:
        return
    for each in found.assigned:
        for one, info in management_groups.denials(each, sent):
            row = _row(one, info, recorded)
            yield row if each.effect else row._replace(answer=Answer.UNKNOWN, message=f"{row.message}, if its effect is deny")
        for one in management_groups.networks(each, sent):
            yield from _plan(one, each, found.plans[each.value])
    for each in found.of_clusters:
        for one, what, ask_for in management_groups.clusters(each, sent):
            message = f"the policy assignment {each.assignment['name']} {what}"
            yield Row(one.id.rpartition("/")[2], CHECK, Answer.UNKNOWN, message, f"ask its owner for {ask_for}")
    for name in found.unread:
        message = f"the initiative of the assignment '{name}' can't be read, and may deny resources"
        yield Row(stack, CHECK, Answer.UNKNOWN, message, "run it with --validate, or ask the policy's owner for Reader there")


def _plan(network: Sent, each: management_groups.Assigned, may_join: bool | None) -> Iterator[Row]:
    """What is known of the right to join the DDoS plan that a policy adds to a network; nothing where this login has it."""
    if may_join:
        return
    message = f"the policy assignment {each.assignment['name']} adds the DDoS plan {each.value} to the network, "
    if may_join is None:
        message += f"and whether this login may join it can't be read: {management_groups.JOIN_PLAN}"
    else:
        message += f"and this login can't join it: none of its roles allows {management_groups.JOIN_PLAN}"
    fix = "have the plan's owner assign Network Contributor on it, or use a network that exists, by foundation.network.subnets"
    answer = Answer.UNKNOWN if may_join is None else Answer.NO_RIGHT
    yield Row(network.id.rpartition("/")[2], CHECK, answer, message, fix)


def pods(recorded: Recorded) -> Iterator[Row]:
    """What is privileged on a stack's clusters, which no other policy than one of the cluster's own denies."""
    for each in recorded.resources:
        spec = each.inputs.get("spec", {}).get("template", {}).get("spec", {}) if each.type.startswith("kubernetes:apps/") else {}
        given = [one.get("securityContext") or {} for one in spec.get("containers", ())]
        added = sorted({name for one in given for name in (one.get("capabilities") or {}).get("add") or ()})
        if added or any(one.get("privileged") for one in given):
            space = each.inputs["metadata"]["namespace"]
            what = f"adds the capability {', '.join(added)}" if added else "is privileged"
            message = f"{what}; allowed unless a policy of the cluster denies it; then exclude the namespace {space}"
            yield Row(each.inputs["metadata"]["name"], PODS, Answer.OK, message)


def _node_groups(sent: Sequence[Sent]) -> Iterator[Sent]:
    """The resource groups that AKS creates. Whether one gets the cluster's tags at once isn't known: Azure/azure-cli issue 7573
    and MicrosoftDocs/azure-docs issue 99846 say different things. So they are asked without."""
    for each in sent:
        name = each.body.get("properties", {}).get("nodeResourceGroup")
        if each.type == azure_types.MANAGED_CLUSTER.arm_type and name:
            yield Sent(f"{each.id}/{name}", GROUPS, {"location": each.body.get("location")}, each.resource)


def content(sent: Sent) -> dict[str, Any]:
    """The body of the question about one resource."""
    is_group = sent.type == azure_types.RESOURCE_GROUP.arm_type
    names = sent.id.rpartition("/providers/")[2].split("/")[2::2]
    named = sent.id.rsplit("/", 1)[-1] if is_group or sent.type == GROUPS else "/".join(names)
    resource = {"type": GROUPS if is_group else sent.type, "name": named, **sent.body}
    version = arm_bodies.api_version(BY_TOKEN[sent.resource.type])
    details = {"resourceContent": resource, **({} if resource["type"] == GROUPS else {"apiVersion": version})}
    return {"resourceDetails": details, "pendingFields": []}


def _denials(login: SignIn, subscription: str, asked: Sequence[Sent], again: RetryPolicy) -> list[Denial]:
    """HttpResponseError where Azure doesn't judge, such as without the right to ask."""
    path = f"/subscriptions/{subscription}/providers/Microsoft.PolicyInsights/checkPolicyRestrictions"
    found: list[Denial] = []
    for each in asked:
        result = post_document(path, API_VERSION, content(each), login, again).get("contentEvaluationResult") or {}
        for one in result.get("policyEvaluations") or []:
            found.append((each, {**(one.get("policyInfo") or {}), "evaluationDetails": one.get("evaluationDetails")}))
    return found


def _row(sent: Sent, info: Mapping[str, Any], recorded: Recorded) -> Row:
    row = validation.denial(info, sent, validation.stack_file_key(sent, recorded))
    if sent.type != GROUPS:
        return row
    why = f"{row.message}. AKS creates this group, and whether with the cluster's tags isn't known"
    return Row(row.subject, row.check, Answer.UNKNOWN, why, "request an exemption for the group from the policy's owner")
