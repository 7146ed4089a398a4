"""Functions that depend on the context of an expression: parameters, variables, copyIndex, reference, resourceGroup, …

They return `DEFERRED` for what only a running deployment knows. Source: Microsoft Learn,
azure-resource-manager/templates/template-functions-resource, -deployment, -numeric, -string and -date."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from azure_gpu.formats.arm_template import date_functions, scope_functions
from azure_gpu.formats.arm_template.arguments import MANY, Arguments
from azure_gpu.formats.arm_template.frame import Frame, Loop
from azure_gpu.formats.arm_template.names import Names
from azure_gpu.formats.arm_template.scope import Scope
from azure_gpu.formats.arm_template.values import RefusedError, Value


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
    _scoped("resourceGroup", scope_functions.resource_group, 0, 0),
    _scoped("subscription", scope_functions.subscription, 0, 0),
    _scoped("tenant", scope_functions.tenant, 0, 0),
    _scoped("deployment", scope_functions.deployment, 0, 0),
    _scoped("environment", scope_functions.environment, 0, 0),
    _scoped("resourceId", scope_functions.resource_id, 2, MANY),
    _scoped("subscriptionResourceId", scope_functions.subscription_resource_id, 2, MANY),
    _scoped("tenantResourceId", scope_functions.tenant_resource_id, 2, MANY),
    _scoped("extensionResourceId", scope_functions.extension_resource_id, 3, MANY),
)
BY_NAME: Mapping[str, Contextual] = {each.name.lower(): each for each in _ALL}
