"""Functions that depend on the context of an expression: parameters, variables, copyIndex, reference, resourceGroup, …

They return `DEFERRED` for what only a running deployment knows. Source: Microsoft Learn,
azure-resource-manager/templates/template-functions-resource, -scope, -deployment, -numeric, -string and -date."""

import re
import uuid
from datetime import datetime

from azure_gpu.formats.arm_template.frame import Loop, Scope
from azure_gpu.formats.arm_template.values import MANY, Arguments, Function, PartlyKnown, RefusedError, Value, unknown

GROUP = "the resource group"
SUBSCRIPTION = "the subscription"
TENANT = "the tenant"
# Of .NET's format strings the letters that make up a date are known; others are rejected by name.
_LETTERS = {
    "yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%-m", "dddd": "%A",
    "ddd": "%a", "dd": "%d", "d": "%-d", "HH": "%H", "hh": "%I", "mm": "%M", "ss": "%S", "tt": "%p",
}  # fmt: skip
_WHOLE = {"u": "yyyy-MM-dd HH:mm:ss'Z'", "s": "yyyy-MM-dd'T'HH:mm:ss", "d": "MM/dd/yyyy", "": "yyyyMMdd'T'HHmmss'Z'"}
_PIECE = re.compile(r"'[^']*'|y+|M+|d+|H+|h+|m+|s+|t+|[A-Za-z]|[^A-Za-z']+")


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


def _scope(given: Arguments) -> Scope:
    return given.reading.frame.scope


def resource_group(given: Arguments) -> Value:
    scope = _scope(given)
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


def subscription(given: Arguments) -> Value:
    scope = _scope(given)
    known = {
        "id": None if scope.subscription_id is None else f"/subscriptions/{scope.subscription_id}",
        "subscriptionId": scope.subscription_id,
        "tenantId": scope.tenant_id,
        "displayName": None if scope.subscription_id is None else scope.subscription_id,
    }
    return _object(known, {"id": SUBSCRIPTION, "subscriptionId": SUBSCRIPTION, "tenantId": TENANT, "displayName": SUBSCRIPTION})


def tenant(given: Arguments) -> Value:
    return _object({"tenantId": _scope(given).tenant_id}, {"tenantId": TENANT})


def deployment(given: Arguments) -> Value:
    known: dict[str, Value] = {"name": _scope(given).deployment, "properties": None}
    return _object(known, {"name": "the deployment's name", "properties": "what this deployment was sent"})


def environment(given: Arguments) -> Value:
    known = _scope(given).environment
    if known is None:
        raise unknown("the Azure cloud that is deployed to")
    return dict(known)


def _known(value: str | None, what: str) -> str:
    if value is None:
        raise unknown(what)
    return value


def resource_id(given: Arguments) -> str:
    texts, scope = given.texts(), _scope(given)
    at = next((index for index, text in enumerate(texts) if "/" in text), len(texts))
    if at > 2 or at == len(texts):
        raise given.refused("it takes [subscription,] [resource group,] a type with a slash in it, and names")
    group = texts[at - 1] if at else scope.resource_group
    path = path_of(texts[at], texts[at + 1 :])
    base = f"/subscriptions/{_known(texts[0] if at == 2 else scope.subscription_id, SUBSCRIPTION)}"
    if group is None and scope.of_subscription:
        return f"{base}/providers/{path}"
    return f"{base}/resourceGroups/{_known(group, GROUP)}/providers/{path}"


def subscription_resource_id(given: Arguments) -> str:
    texts = given.texts()
    at = 0 if "/" in texts[0] else 1
    path = path_of(texts[at], texts[at + 1 :])
    return f"/subscriptions/{_known(texts[0] if at else _scope(given).subscription_id, SUBSCRIPTION)}/providers/{path}"


def tenant_resource_id(given: Arguments) -> str:
    texts = given.texts()
    return f"/providers/{path_of(texts[0], texts[1:])}"


def extension_resource_id(given: Arguments) -> str:
    texts = given.texts()
    return f"{texts[0].rstrip('/')}/providers/{path_of(texts[1], texts[2:])}"


def _parameter(given: Arguments) -> Value:
    return given.reading.named(given.reading.frame.parameters, given.text(0))


def _variable(given: Arguments) -> Value:
    return given.reading.named(given.reading.frame.variables, given.text(0))


def _copy_index(given: Arguments) -> int:
    named = given.text(0).lower() if len(given) and isinstance(given[0], str) else ""
    offset_at = 1 if named else 0
    offset = given.number(offset_at) if len(given) > offset_at else 0
    loops = list(reversed(given.reading.frame.loops))
    fitting = [loop for loop in loops if loop.name == named] if named else _nameless(loops)
    if not fitting:
        where = f"of the name '{given[0]}'" if named else "here"
        raise RefusedError(f"copyIndex: there is no copy loop {where}")
    return fitting[0].round + offset


def _nameless(loops: list[Loop]) -> list[Loop]:
    """That of the resource or output where there is one, else the innermost."""
    return [loop for loop in loops if not loop.of_values] or loops


def _new_guid(given: Arguments) -> str:
    _only_in_defaults(given, "newGuid")
    return str(uuid.uuid4())


def _utc_now(given: Arguments) -> str:
    _only_in_defaults(given, "utcNow")
    return written(given.reading.frame.shared.now, given.text(0) if len(given) else "", given)


def _only_in_defaults(given: Arguments, name: str) -> None:
    if not given.reading.in_default:
        raise RefusedError(f"{name} is allowed only in the default value of a parameter")


def written(instant: datetime, form: str, given: Arguments) -> str:
    """An instant in one of .NET's formats; "" is the one of `utcNow()`."""
    pieces = _PIECE.findall(_WHOLE.get(form, form))
    return "".join(_piece(instant, piece, given) for piece in pieces)


def _piece(instant: datetime, piece: str, given: Arguments) -> str:
    if piece.startswith("'"):
        return piece[1:-1]
    if piece in _LETTERS:
        code = _LETTERS[piece]
        return instant.strftime(code.replace("-", "")).lstrip("0") if "-" in code else instant.strftime(code)
    if piece in ("T", "Z") or not piece.isalpha():
        return piece
    raise given.refused(f"the form '{piece[:20]}' of a date is not known here", f"known are {', '.join(_LETTERS)}")


def _reference(given: Arguments) -> Value:
    version = given.text(1) if len(given) > 1 else ""
    full = len(given) > 2 and given.text(2).lower() == "full"
    return given.reading.ask("reference", given.text(0), version, full, None)


def listed(name: str) -> Function:
    """`listKeys` and every other function whose name begins with list."""

    def call(given: Arguments) -> Value:
        return given.reading.ask(name, given.text(0), given.text(1), False, given[2] if len(given) > 2 else None)

    return Function(name, call, 2, 3)


FUNCTIONS: tuple[Function, ...] = (
    Function("parameters", _parameter, 1, 1),
    Function("variables", _variable, 1, 1),
    Function("copyIndex", _copy_index, 0, 2),
    Function("newGuid", _new_guid, 0, 0),
    Function("utcNow", _utc_now, 0, 1),
    Function("reference", _reference, 1, 3),
    Function("resourceGroup", resource_group, 0, 0),
    Function("subscription", subscription, 0, 0),
    Function("tenant", tenant, 0, 0),
    Function("deployment", deployment, 0, 0),
    Function("environment", environment, 0, 0),
    Function("resourceId", resource_id, 2, MANY),
    Function("subscriptionResourceId", subscription_resource_id, 2, MANY),
    Function("tenantResourceId", tenant_resource_id, 2, MANY),
    Function("extensionResourceId", extension_resource_id, 3, MANY),
)
