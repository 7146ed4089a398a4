"""Functions that depend on the context of an expression: parameters, variables, copyIndex, reference, resourceGroup, …

They return `DEFERRED` for what only a running deployment knows. Source: Microsoft Learn,
azure-resource-manager/templates/template-functions-resource, -scope, -deployment, -numeric, -string and -date."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from azure_gpu.formats.arm_template import date_functions
from azure_gpu.formats.arm_template.frame import Frame, Loop, Names, Scope
from azure_gpu.formats.arm_template.values import MANY, Arguments, PartlyKnown, RefusedError, Value

GROUP = "the resource group"
SUBSCRIPTION = "the subscription"
TENANT = "the tenant"


def path_of(types: str, names: list[str]) -> str:
    """Types and names alternately: `Microsoft.Network/virtualNetworks/lan/subnets/one`. RefusedError if their numbers differ."""
    namespace, *steps = types.strip("/").split("/")
    if not steps or len(steps) != len(names):
        raise RefusedError(
            f"the type '{types}' takes {len(steps)} name{'' if len(steps) == 1 else 's'} and {len(names)} "
            f"{'is' if len(names) == 1 else 'are'} given"
        )
    return "/".join([namespace, *(f"{step}/{name}" for step, name in zip(steps, names, strict=True))])


def _object(known: dict[str, Value | None], unknown: dict[str, str]) -> PartlyKnown | dict[str, Value]:
    missing = {name.lower(): unknown[name] for name, value in known.items() if value is None and name in unknown}
    there = {name: value for name, value in known.items() if name.lower() not in missing}
    return PartlyKnown(there, missing) if missing else there


def resource_group(scope: Scope, _: Arguments) -> Value:
    known: dict[str, Value] = {
        "id": scope.group_id,
        "name": scope.resource_group,
        "type": "Microsoft.Resources/resourceGroups",
        "location": scope.location,
        "tags": dict(scope.tags or {}),
        "properties": {"provisioningState": "Succeeded"},
    }
    id_of = f"the id of {GROUP}" if scope.resource_group else GROUP
    return _object(known, {"id": id_of, "name": GROUP, "location": f"the location of {GROUP}"})


def subscription(scope: Scope, _: Arguments) -> Value:
    known = {
        "id": None if scope.subscription_id is None else f"/subscriptions/{scope.subscription_id}",
        "subscriptionId": scope.subscription_id,
        "tenantId": scope.tenant_id,
        "displayName": None if scope.subscription_id is None else scope.subscription_id,
    }
    return _object(known, {"id": SUBSCRIPTION, "subscriptionId": SUBSCRIPTION, "tenantId": TENANT, "displayName": SUBSCRIPTION})


def tenant(scope: Scope, _: Arguments) -> Value:
    return _object({"tenantId": scope.tenant_id}, {"tenantId": TENANT})


def deployment(scope: Scope, _: Arguments) -> Value:
    known: dict[str, Value] = {"name": scope.deployment, "properties": None}
    return _object(known, {"name": "the deployment's name", "properties": "what this deployment was sent"})


def environment(scope: Scope, _: Arguments) -> Value:
    if scope.environment is None:
        raise RefusedError("the Azure cloud that is deployed to is not known here", unknown=True)
    return dict(scope.environment)


def resource_id(scope: Scope, given: Arguments) -> str:
    texts = given.texts()
    at = next((index for index, text in enumerate(texts) if "/" in text), len(texts))
    if at > 2 or at == len(texts):
        raise given.refused("it takes [subscription,] [resource group,] a type with a slash in it, and names")
    group = texts[at - 1] if at else scope.resource_group
    owner = texts[0] if at == 2 else scope.subscription_id
    path = path_of(texts[at], texts[at + 1 :])
    if owner is None:
        raise RefusedError(f"{SUBSCRIPTION} is not known here", unknown=True)
    if group is None and scope.of_subscription:
        return f"/subscriptions/{owner}/providers/{path}"
    if group is None:
        raise RefusedError(f"{GROUP} is not known here", unknown=True)
    return f"/subscriptions/{owner}/resourceGroups/{group}/providers/{path}"


def subscription_resource_id(scope: Scope, given: Arguments) -> str:
    texts = given.texts()
    at = 0 if "/" in texts[0] else 1
    owner = texts[0] if at else scope.subscription_id
    path = path_of(texts[at], texts[at + 1 :])
    if owner is None:
        raise RefusedError(f"{SUBSCRIPTION} is not known here", unknown=True)
    return f"/subscriptions/{owner}/providers/{path}"


def tenant_resource_id(_: Scope, given: Arguments) -> str:
    texts = given.texts()
    return f"/providers/{path_of(texts[0], texts[1:])}"


def extension_resource_id(_: Scope, given: Arguments) -> str:
    texts = given.texts()
    return f"{texts[0].rstrip('/')}/providers/{path_of(texts[1], texts[2:])}"


class Reading(Protocol):
    """What these functions need of the part of a template that they are called in."""

    @property
    def frame(self) -> Frame: ...
    @property
    def in_default(self) -> bool: ...
    def named(self, names: Names, name: str) -> Value: ...
    def ask(self, function: str, resource: str, version: str, full: bool, body: Value) -> Value: ...


@dataclass(frozen=True, slots=True)
class Contextual:
    """A function of the reading and of `least` to `most` arguments."""

    name: str
    call: Callable[[Reading, Arguments], Value]
    least: int
    most: int


def _parameter(reading: Reading, given: Arguments) -> Value:
    return reading.named(reading.frame.parameters, given.text(0))


def _variable(reading: Reading, given: Arguments) -> Value:
    return reading.named(reading.frame.variables, given.text(0))


def _copy_index(reading: Reading, given: Arguments) -> int:
    named = given.text(0).lower() if len(given) and isinstance(given[0], str) else ""
    offset_at = 1 if named else 0
    offset = given.number(offset_at) if len(given) > offset_at else 0
    loops = list(reversed(reading.frame.loops))
    fitting = [loop for loop in loops if loop.name == named] if named else _nameless(loops)
    if not fitting:
        where = f"of the name '{given[0]}'" if named else "here"
        raise RefusedError(f"copyIndex: there is no copy loop {where}")
    return fitting[0].round + offset


def _nameless(loops: list[Loop]) -> list[Loop]:
    """That of the resource or output where there is one, else the innermost."""
    return [loop for loop in loops if not loop.of_values] or loops


def _new_guid(reading: Reading, _: Arguments) -> str:
    _only_in_defaults(reading, "newGuid")
    return str(uuid.uuid4())


def _utc_now(reading: Reading, given: Arguments) -> str:
    _only_in_defaults(reading, "utcNow")
    return date_functions.written(reading.frame.shared.now, given.text(0) if len(given) else "", given)


def _only_in_defaults(reading: Reading, name: str) -> None:
    if not reading.in_default:
        raise RefusedError(f"{name} is allowed only in the default value of a parameter")


def _reference(reading: Reading, given: Arguments) -> Value:
    version = given.text(1) if len(given) > 1 else ""
    full = len(given) > 2 and given.text(2).lower() == "full"
    return reading.ask("reference", given.text(0), version, full, None)


def listed(reading: Reading, given: Arguments, name: str) -> Value:
    """`listKeys` and every other function whose name begins with list."""
    return reading.ask(name, given.text(0), given.text(1), False, given[2] if len(given) > 2 else None)


def _scoped(name: str, call: Callable[[Scope, Arguments], Value], least: int, most: int) -> Contextual:
    return Contextual(name, lambda reading, given: call(reading.frame.scope, given), least, most)


_ALL = (
    Contextual("parameters", _parameter, 1, 1),
    Contextual("variables", _variable, 1, 1),
    Contextual("copyIndex", _copy_index, 0, 2),
    Contextual("newGuid", _new_guid, 0, 0),
    Contextual("utcNow", _utc_now, 0, 1),
    Contextual("reference", _reference, 1, 3),
    _scoped("resourceGroup", resource_group, 0, 0),
    _scoped("subscription", subscription, 0, 0),
    _scoped("tenant", tenant, 0, 0),
    _scoped("deployment", deployment, 0, 0),
    _scoped("environment", environment, 0, 0),
    _scoped("resourceId", resource_id, 2, MANY),
    _scoped("subscriptionResourceId", subscription_resource_id, 2, MANY),
    _scoped("tenantResourceId", tenant_resource_id, 2, MANY),
    _scoped("extensionResourceId", extension_resource_id, 3, MANY),
)
BY_NAME: Mapping[str, Contextual] = {each.name.lower(): each for each in _ALL}
