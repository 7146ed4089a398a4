"""Validates a stack's bodies with Azure Resource Manager's action `validate` at the subscription.

Each error is a row; an error of a policy has its assignment, the property, the stack's value, and the key of the stack file.

Sources: Microsoft Learn, rest/api/resources/deployments/validate-at-subscription-scope (2025-04-01), which answers 200, 202 with
an address, or 400 with errors in `details`; governance/policy/how-to/determine-non-compliance and
azure-resource-manager/troubleshooting/error-policy-requestdisallowedbypolicy for what a refusal of a policy holds. Read
2026-11-25.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from azure.core.exceptions import AzureError, HttpResponseError
from azure.core.pipeline.policies import RetryPolicy
from azure.core.rest import HttpRequest, HttpResponse

from azure_gpu.catalog import policies
from azure_gpu.formats import azure_types
from azure_gpu.formats.parts import BY_COMPONENT, path_of_part
from azure_gpu_operations.azure import SignIn, arm_client
from azure_gpu_operations.graph.recorded import ProgramError, Recorded, WrongStackError
from azure_gpu_operations.planned import UnreadableStackFileError
from azure_gpu_operations.preflight.fetching import fetch, retries
from azure_gpu_operations.preflight.rows import Answer, Row
from azure_gpu_operations.preflight.template import DEPLOYMENTS, Sent, Template, template_of
from azure_gpu_operations.signed_in import claims_of
from azure_gpu_operations.terminal import counted

CHECK = "validate"
NEEDED = "Resource Manager's validation of the stack"
LIMIT_SECONDS = 300.0  # the services are asked one after the other
NAME = "azure-gpu-preflight"  # of the deployment that is never made
_TARGETS = "targets"
_BY_POLICY = "RequestDisallowedByPolicy"
_AGAIN_SECONDS = 5.0  # if ARM sends no Retry-After
_LONGEST_VALUE = 80  # characters
_IDENTIFIERS = re.compile(r"Policy identifiers: '(\[.*\])'", re.DOTALL)
_OF_FOUNDATION = {
    azure_types.RESOURCE_GROUP.arm_type: "resource_group",
    azure_types.USER_ASSIGNED_IDENTITY.arm_type: "identity",
    azure_types.REGISTRY.arm_type: "registry",
    azure_types.LOG_WORKSPACE.arm_type: "log_workspace",
    azure_types.STORAGE_ACCOUNT.arm_type: "storage",
}
_KEYS = {"location": "location", "tags": "tags"}


def check(
    found: Callable[[], Recorded], login: SignIn, subscription: str, stack: str, limit_seconds: float = LIMIT_SECONDS
) -> tuple[list[Row], dict[str, str]]:
    """Rows, and why there are none. `found`: what the stack's program declares."""
    made = prepared(found, login, subscription)
    if isinstance(made, str):
        return [], {NEEDED: made}
    recorded, template = made
    again = retries()
    [outcome] = fetch({CHECK: lambda: ask(login, subscription, template, again)}, limit_seconds=limit_seconds).values()
    if outcome.value is None:
        return [], {NEEDED: outcome.missing}
    return rows(outcome.value, template, recorded, stack), {}


def prepared(found: Callable[[], Recorded], login: SignIn, subscription: str) -> tuple[Recorded, Template] | str:
    """What the stack's program declares, with the bodies of its resources; or why there are none."""
    try:
        recorded = found()
        return recorded, template_of(recorded, subscription, object_id(login))
    except (WrongStackError, ProgramError, UnreadableStackFileError) as error:
        return f"the program failed: {str(error).splitlines()[0]}"
    except (AzureError, OSError) as error:
        return f"Azure is unreachable: {error}"


class StackFileKey(NamedTuple):
    """The path of a resource in a stack file. `overrides`: its entry can set any property of it."""

    path: str
    overrides: bool


def request(subscription: str, template: Template, action: str = "validate") -> HttpRequest:
    """The request of `validate` or `whatIf`. It makes nothing."""
    path = f"/subscriptions/{subscription}/providers/Microsoft.Resources/deployments/{NAME}/{action}"
    body = {"location": template.location, "properties": {"mode": "Incremental", "template": template.document}}
    return HttpRequest("POST", path, params={"api-version": DEPLOYMENTS}, json=body)


def ask(
    login: SignIn,
    subscription: str,
    template: Template,
    retries: RetryPolicy,
    sleep: Callable[[float], None] = time.sleep,
) -> Mapping[str, Any]:
    """ARM's error; {} if it accepts everything. HttpResponseError where it doesn't judge: no right to ask, throttled, out of
    order."""
    with arm_client(login, retries) as client:
        sent = request(subscription, template)
        sent.url = client.format_url(sent.url)
        answer: HttpResponse = client.send_request(sent)
        while answer.status_code == 202:
            given = answer.headers.get("Retry-After", "")
            sleep(float(given) if given.isdecimal() else _AGAIN_SECONDS)
            answer = client.send_request(HttpRequest("GET", answer.headers["Location"]))
        error = _error(answer)
        if answer.status_code >= 400 and (error is None or answer.status_code != 400):
            raise HttpResponseError(response=answer)
        return error or {}


def rows(error: Mapping[str, Any], template: Template, recorded: Recorded, stack: str) -> list[Row]:
    """One row for each error; one where there is none, which names what ARM wasn't asked about."""
    kept = [_row(each, template, recorded, stack) for each in leaves(error)] if error else []
    if kept:
        return list(dict.fromkeys(kept))
    message = f"Resource Manager accepts {counted(len(template.sent), 'resource')}"
    if template.left_out:
        message += f"; not sent: {'; '.join(template.left_out)}"
    return [Row(stack, CHECK, Answer.OK, message)]


def leaves(error: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[Mapping[str, Any]]:
    """The innermost errors, each with the targets of the errors around it."""
    inner = [each for each in error.get("details") or [] if isinstance(each, Mapping)]
    if not inner or error.get("code") == _BY_POLICY:
        yield {**error, _TARGETS: [*above, str(error.get("target") or "")]}
        return
    for each in inner:
        yield from leaves(each, (*above, str(error.get("target") or "")))


def _row(error: Mapping[str, Any], template: Template, recorded: Recorded, stack: str) -> Row:
    sent = _of(error, template)
    place = stack_file_key(sent, recorded) if sent is not None else StackFileKey("", False)
    subject = place.path or (f"{sent.type} {_name(sent)}" if sent is not None else stack)
    if error.get("code") != _BY_POLICY:
        message = f"{error.get('code')}: {error.get('message')}"
        return Row(subject, CHECK, Answer.REFUSED, message)
    return denial(_violation(error), sent, place, subject, str(error.get("target") or "a resource"))


def denial(info: Mapping[str, Any], sent: Sent | None, place: StackFileKey, subject: str = "", target: str = "") -> Row:
    """The row of a policy's violation. `target`: what is denied if that isn't known."""
    evaluated = _denied_expression(info)
    what = f"{sent.type} {_name(sent)}" if sent is not None else target
    message = f"the policy assignment {_called(info, 'policyAssignment')} denies {what}{_because(evaluated, sent)}"
    message += f"; definition {_called(info, 'policyDefinition')}"
    message += f", of the initiative {_called(info, 'policySetDefinition')}" if info.get("policySetDefinitionId") else ""
    message += f"; assignment id {info['policyAssignmentId']}" if info.get("policyAssignmentId") else ""
    known = policies.answer(str(info.get("policyDefinitionId", "")), sent.type) if sent is not None else ""
    return Row(subject or place.path or what, "policy", Answer.REFUSED, message, fix=known or _fix(evaluated, place, sent))


def stack_file_key(sent: Sent, recorded: Recorded) -> StackFileKey:
    """The entry of the stack file that a resource comes from; "" where none is known."""
    by_urn = {each.urn: each for each in recorded.resources}
    above = by_urn.get(sent.resource.parent)
    while above is not None and not above.is_component:
        above = by_urn.get(above.parent)
    if above is None:
        return StackFileKey("", False)
    noun = above.type.rpartition(":")[2]
    if noun == "Foundation":
        key = _OF_FOUNDATION.get(sent.type, "")
        return StackFileKey(f"foundation.{key}" if key else "foundation", bool(key))
    kind = BY_COMPONENT.get(noun)
    overridden = kind.of_overrides if kind is not None else None
    return StackFileKey(path_of_part(noun, above.name), overridden is not None and sent.type == overridden.arm_type)


def _of(error: Mapping[str, Any], template: Template) -> Sent | None:
    """The resource that an error is about: by its id, by its name where only one has that, or by the id in the text."""
    targets = [target.lower() for target in error.get(_TARGETS, ()) if target]
    text = f"{' '.join(targets)} {error.get('message')}".lower()
    by_id = sorted(template.sent, key=lambda each: -len(each.id))
    exact = next((each for each in by_id if each.id.lower() in targets), None)
    named = [each for each in by_id if _name(each).lower() in {target.rsplit("/", 1)[-1] for target in targets}]
    evaluated = {
        str(each.get("expressionValue")).lower() for each in _expressions(_violation(error)) if each.get("path") == "type"
    }
    typed = [each for each in named if each.type.lower() in evaluated] or named
    # A policy names its property by the type that it is of.
    aliases = [str(each.get("expression", "")).lower() for each in _expressions(_violation(error))]
    aliased = [each for each in typed if any(alias.startswith(f"{each.type.lower()}/") for alias in aliases)] or typed
    return exact or (aliased[0] if aliased else None) or next((each for each in by_id if each.id.lower() in text), None)


def _name(sent: Sent) -> str:
    return sent.id.rsplit("/", 1)[-1]


def _violation(error: Mapping[str, Any]) -> Mapping[str, Any]:
    """The details of a policy violation; from the message's list of identifiers if there are no others."""
    for each in error.get("additionalInfo") or []:
        if isinstance(each, Mapping) and each.get("type") == "PolicyViolation" and isinstance(each.get("info"), Mapping):
            return each["info"]
    found = _IDENTIFIERS.search(str(error.get("message")))
    try:
        details: list[dict[str, dict[str, str]]] = json.loads(found[1]) if found else []
    except ValueError:
        details = []
    return {
        f"{kind}{key}": value[part]
        for kind, value in (details[0] if details else {}).items()
        for key, part in (("DisplayName", "name"), ("Id", "id"))
        if part in value
    }


def _expressions(info: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    details = info.get("evaluationDetails")
    return list(details.get("evaluatedExpressions") or []) if isinstance(details, Mapping) else []


def _denied_expression(info: Mapping[str, Any]) -> Mapping[str, Any]:
    """The evaluated expression of a policy, other than the type."""
    details = [each for each in _expressions(info) if each.get("path") != "type" and each.get("path")]
    return details[-1] if details else {}


def _called(info: Mapping[str, Any], what: str) -> str:
    name, id_ = info.get(f"{what}DisplayName"), str(info.get(f"{what}Id") or "")
    return f"'{name or info.get(f'{what}Name') or id_.rsplit('/', 1)[-1] or 'without a name'}'"


def _because(evaluated: Mapping[str, Any], sent: Sent | None) -> str:
    if not evaluated:
        return ""
    path = str(evaluated["path"])
    known, value = _at(sent.body, path) if sent is not None else (False, None)
    if not known and evaluated.get("expressionValue") is not None:
        known, value = True, evaluated["expressionValue"]
    given = f"the stack sets {_short(value)}" if known else "the stack doesn't set it"
    return f" because of {path}: {given}; denied if it {_operator(evaluated)}"


def _operator(evaluated: Mapping[str, Any]) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(evaluated.get("operator", ""))).lower()
    target = evaluated.get("targetValue")
    if words == "exists":
        return "is set" if str(target).lower() == "true" else "is missing"
    return f"{words} {_short(target)}".strip() or "has this value"


def _fix(evaluated: Mapping[str, Any], place: StackFileKey, sent: Sent | None) -> str:
    ask_for = "or request an exemption from the policy's owner"
    path = str(evaluated.get("path") or "")
    first = re.split(r"[.\[]", path)[0]
    if not path or sent is None:
        return f"change the property that the policy checks, {ask_for}"
    if first in _KEYS:
        where = f"{place.path}.{_KEYS[first]}" if place.path and place.overrides else _KEYS[first]
        return f"set {where}, or {_KEYS[first]} of the whole stack, to an allowed value, {ask_for}"
    if place.overrides:
        wrapped = "properties" not in sent.resource.inputs
        name = path.removeprefix("properties.") if wrapped else path
        return f"set it by a key of {place.path} if there is one, otherwise by {place.path}.overrides: {{{name}: …}}; {ask_for}"
    where = f"no key below {place.path} sets it directly" if place.path else "no key of the stack file sets it directly"
    return f"{where}, {ask_for}"


def _at(body: Any, path: str) -> tuple[bool, Any]:
    """Whether something is at a path of a body, and what; `tags[owner]` is the tag of that name."""
    for name in re.findall(r"[^.\[\]']+", path):
        if not isinstance(body, Mapping) or name not in body:
            return False, None
        body = body[name]
    return True, body


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _error(answer: HttpResponse) -> Mapping[str, Any] | None:
    """Also with 200 ARM may answer an error (Microsoft Learn, deployments/validate: `DeploymentValidateResult.error`)."""
    try:
        content = answer.json()
    except ValueError:
        return None
    error = content.get("error") if isinstance(content, Mapping) else None
    return error if isinstance(error, Mapping) else None


def object_id(login: SignIn) -> str:
    """The object id in the login's token; "" if it has none."""
    token = login.credential.get_token(login.scope).token
    with suppress(IndexError, ValueError):
        return str(claims_of(token).get("oid", ""))
    return ""
