"""Reads a template's resources: conditions, copy loops, children inside of `resources`, nested deployments.

The result is one `TemplateResource` for each resource that is to be deployed, with its raw `dependsOn`, which `dependencies`
resolves."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from azure_gpu.formats.arm_ids import RESOURCE_GROUP_TYPE
from azure_gpu.formats.arm_template import context_functions, syntax
from azure_gpu.formats.arm_template.evaluation import Reading
from azure_gpu.formats.arm_template.frame import Frame, Loop, Scope
from azure_gpu.formats.arm_template.model import Nested, TemplateResource
from azure_gpu.formats.arm_template.values import RefusedError, UnresolvedError, Value, is_list, is_object, kind_of
from azure_gpu.formats.lenient_json import member

MAX_RESOURCES = 800  # Microsoft Learn, azure-resource-manager/templates/best-practices
DEPLOYMENT = "microsoft.resources/deployments"
_WORK_OF_ONE = 50  # what a resource costs beside its values
# Keys of a resource's entry that are about deploying it, and aren't part of its body.
_NOT_BODY = frozenset({"condition", "copy", "dependson", "resources", "comments", "scope", "existing", "metadata", "import"})
_FIXED = ("type", "apiVersion", "name")


@dataclass(slots=True)
class Found:
    """One resource, with what its dependencies are made of."""

    resource: TemplateResource
    depends_on: list[tuple[str, str]]  # evaluated entries of `dependsOn`, each with its path
    asked: list[str]  # what it refers to by `reference` and `list…`
    loop: str  # name of its copy loop, lower case; "" where there is none
    round: int
    waits_for: int  # rounds of its loop that have to end before; -1: none
    symbol: str  # symbolic name, lower case; "" where there is none
    deployed: bool = True  # False where its condition doesn't hold


@dataclass(slots=True)
class Collector:
    """All resources of one template, in the order of the file."""

    frame: Frame
    found: list[Found] = field(default_factory=list[Found])
    full: bool = False

    def collect(self, raw: Value, place: str) -> None:
        """A list of resources, or an object of them by symbolic name."""
        for entry, where, symbol in _entries(raw, place):
            if not is_object(entry):
                self._refuse(where, f"a resource is {kind_of(entry)}, not an object")
                continue
            self._entry(entry, where, symbol, self.frame, ("", ""))

    def _entry(self, entry: dict[str, Value], place: str, symbol: str, frame: Frame, above: tuple[str, str]) -> None:
        """One entry: once, or in each round of its copy loop. `above`: type and name of the resource that it is a child of."""
        loop = entry.get("copy")
        if loop is None:
            self._one(entry, place, symbol, frame, above, "", 0, -1)
            return
        if not is_object(loop) or not isinstance(loop.get("name"), str):
            self._refuse(member(place, "copy"), "a copy loop of a resource needs a name and a count")
            return
        count = Reading(frame).count(loop.get("count"), member(member(place, "copy"), "count"))
        name, mode = str(loop["name"]).lower(), str(loop.get("mode", "parallel")).lower()
        size = loop.get("batchSize", 1)
        batch = size if isinstance(size, int) and size > 0 else 1
        for index in range(count):
            if frame.shared.meter.exhausted:
                break
            waits_for = index // batch * batch if mode == "serial" else -1
            self._one(entry, place, symbol, frame.within(Loop(name, index, of_values=False)), above, name, index, waits_for)

    def _one(
        self,
        entry: dict[str, Value],
        place: str,
        symbol: str,
        frame: Frame,
        above: tuple[str, str],
        loop: str,
        index: int,
        waits: int,
    ) -> None:
        if len(self.found) >= MAX_RESOURCES:
            if not self.full:
                self._refuse(place, f"the template deploys more than {MAX_RESOURCES} resources")
            self.full = True
            return
        try:
            frame.shared.meter.spend(_WORK_OF_ONE)
        except RefusedError as error:
            frame.shared.report(place, error)
            return
        head = self._head(entry, place, frame, above)
        if head is None:
            return
        depends_on, asked = self._dependencies(entry, place, frame)
        resource, deployed = read_resource(entry, place, frame, head)
        asked += resource[1]
        self.found.append(Found(resource[0], depends_on, asked, loop, index, waits, symbol.lower(), deployed))
        children = entry.get("resources")
        if children is not None and not resource[0].nested:
            for child, where, child_symbol in _entries(children, member(place, "resources")):
                if is_object(child):
                    self._entry(child, where, child_symbol, frame, (head["type"], head["name"]))
                else:
                    self._refuse(where, f"a resource is {kind_of(child)}, not an object")

    def _head(self, entry: dict[str, Value], place: str, frame: Frame, above: tuple[str, str]) -> dict[str, str] | None:
        """Type, version and name, which must be known before anything is deployed; None where one isn't."""
        reading = Reading(frame)
        head: dict[str, str] = {}
        for key in _FIXED:
            if key not in entry:
                self._refuse(place, f"the resource has no {key}")
                continue
            value = reading.value(entry[key], member(place, key))
            if isinstance(value, str) and not (reading.failed or reading.unresolved):
                head[key] = value
            elif not isinstance(value, str):
                self._refuse(member(place, key), f"the {key} of a resource is {kind_of(value)}, not a text")
        if reading.failed or len(head) < len(_FIXED):
            return None
        if above[0]:
            inside = head["type"].lower().startswith(above[0].lower() + "/")
            head["type"] = head["type"] if inside else f"{above[0]}/{head['type']}"
            head["name"] = head["name"] if inside else f"{above[1]}/{head['name']}"
        types, names = head["type"].count("/"), head["name"].count("/") + 1
        if types < 1:
            self._refuse(member(place, "type"), f"'{head['type']}' isn't a resource type", "write it as Microsoft.Service/things")
            return None
        if types != names:
            self._refuse(
                member(place, "name"),
                f"the name '{head['name']}' has {names} part{'' if names == 1 else 's'}; the type '{head['type']}' takes {types}",
                "a nested resource's name holds its parents' names, divided by slashes",
            )
            return None
        return head

    def _dependencies(self, entry: dict[str, Value], place: str, frame: Frame) -> tuple[list[tuple[str, str]], list[str]]:
        raw, where = entry.get("dependsOn"), member(place, "dependsOn")
        if raw is None:
            return [], []
        # Only which resource is meant matters, so an unknown subscription may be any.
        reading = Reading(frame.anywhere())
        if is_list(raw):
            values = [(reading.value(each, f"{where}[{index}]"), f"{where}[{index}]") for index, each in enumerate(raw)]
        else:
            whole = reading.value(raw, where)
            values = [(each, where) for each in whole] if is_list(whole) else [(whole, where)]
        for value, at in values:
            if not isinstance(value, str):
                self._refuse(at, f"an entry of dependsOn is {kind_of(value)}, not a text")
        kept = [(value, at) for value, at in values if isinstance(value, str) and not syntax.is_expression(value)]
        return kept, reading.asked

    def _refuse(self, place: str, message: str, fix: str = "") -> None:
        self.frame.shared.report(place, RefusedError(message, fix))


def read_resource(
    entry: dict[str, Value], place: str, frame: Frame, head: dict[str, str]
) -> tuple[tuple[TemplateResource, list[str]], bool]:
    """The resource, what it refers to, and whether its condition holds."""
    deployed = _condition(entry, place, frame)
    nested, nested_reading = None, None
    is_deployment = head["type"].lower() == DEPLOYMENT
    reading = Reading(frame, deferrable=True)
    body: dict[str, Value] = {"type": head["type"], "apiVersion": head["apiVersion"], "name": head["name"]}
    existing = entry.get("existing") is True
    if deployed and not existing:
        for key, value in entry.items():
            if key in _FIXED or key.lower() in _NOT_BODY or (is_deployment and key == "properties"):
                continue
            body[key] = reading.value(value, member(place, key), key)
        if is_deployment:
            nested, nested_reading = read_nested(entry, place, frame)
    scope = _scope_of(entry, place, frame)
    try:
        path = context_functions.path_of(head["type"], head["name"].split("/"))
    except RefusedError as error:
        frame.shared.report(place, error)
        path = head["type"]
    base, key_base = _base(scope, frame.scope, nested)
    in_providers = head["type"].lower() != RESOURCE_GROUP_TYPE.lower()
    resource = TemplateResource(
        body=body,
        path=place,
        depends_on=(),
        key=f"{key_base}{path}".lower(),
        id="" if base is None else f"{base}/providers/{path}" if in_providers else f"{base}/resourceGroups/{head['name']}",
        unresolved=reading.unresolved,
        secrets=tuple(reading.secrets),
        nested=nested,
        frame=frame,
        source=entry,
        existing=existing,
    )
    asked = reading.asked + (nested_reading.asked if nested_reading else [])
    return (resource, asked), deployed


def _condition(entry: dict[str, Value], place: str, frame: Frame) -> bool:
    """True where it can't be known: what else is wrong with the resource is to be found as well."""
    if "condition" not in entry:
        return True
    reading, where = Reading(frame), member(place, "condition")
    value = reading.value(entry["condition"], where)
    if reading.failed:
        return True
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        frame.shared.report(where, RefusedError(f"the condition is {kind_of(value)}, not true or false"))
        return True
    return value


def _scope_of(entry: dict[str, Value], place: str, frame: Frame) -> str:
    """The resource that an extension is about; "" where the entry isn't one."""
    if "scope" not in entry:
        return ""
    value = Reading(frame).value(entry["scope"], member(place, "scope"))
    return value if isinstance(value, str) and not syntax.is_expression(value) else ""


def _base(scope: str, where: Scope, nested: Nested | None) -> tuple[str | None, str]:
    """What the id begins with, None where that isn't known, and what the key begins with."""
    if scope.startswith("/"):
        return scope.rstrip("/"), scope.rstrip("/") + "/providers/"
    if scope:
        names = scope.split("/")
        inside = scope if len(names) % 2 else "/".join(names)
        return (f"{where.base_id}/providers/{inside}" if where.base_id else None), f"{inside}/providers/"
    if nested is not None and nested.resource_group is not None and nested.subscription_id is not None:
        return f"/subscriptions/{nested.subscription_id}/resourceGroups/{nested.resource_group}", ""
    return where.base_id, ""


def read_nested(entry: dict[str, Value], place: str, frame: Frame) -> tuple[Nested | None, Reading]:
    """The template of a nested deployment, with its parameters where it has its own."""
    reading = Reading(frame, deferrable=True)
    properties, where = entry.get("properties"), member(place, "properties")
    if not is_object(properties):
        frame.shared.report(where, RefusedError("a nested deployment has no properties"))
        return None, reading
    for key in ("templateLink", "parametersLink"):
        if key in properties:
            frame.shared.report(
                member(where, key), RefusedError(f"{key} is not followed", "write the template into the nested deployment")
            )
            return None, reading
    template = properties.get("template")
    if not is_object(template):
        frame.shared.report(member(where, "template"), RefusedError("a nested deployment has no template"))
        return None, reading
    options = properties.get("expressionEvaluationOptions")
    inner = is_object(options) and str(options.get("scope", "")).lower() == "inner"
    parameters: dict[str, Value] = {}
    raw = properties.get("parameters")
    for name, each in raw.items() if is_object(raw) else ():
        at = member(member(where, "parameters"), name)
        if is_object(each) and "value" in each:
            parameters[name] = reading.value(each["value"], member(at, "value"), name)
        else:
            frame.shared.report(at, RefusedError(f"the parameter '{name}' has no value", 'write {"value": …}'))
    fixed = Reading(frame)
    place_of = {
        key: fixed.value(entry[key], member(place, key)) if key in entry else None for key in ("subscriptionId", "resourceGroup")
    }
    group, owner = place_of["resourceGroup"], place_of["subscriptionId"]
    nested = Nested(
        template=template,
        path=member(where, "template"),
        mode=str(properties.get("mode", "Incremental")),
        inner=inner,
        parameters=parameters if not (reading.unresolved or reading.failed) else _known(parameters, reading),
        subscription_id=owner if isinstance(owner, str) else frame.scope.subscription_id,
        resource_group=group if isinstance(group, str) else frame.scope.resource_group,
    )
    return nested, reading


def _known(parameters: dict[str, Value], reading: Reading) -> dict[str, Value]:
    """Only the parameters whose whole value is known."""
    waiting = {path.split(".")[0].split("[")[0] for path in reading.unresolved}
    return {name: value for name, value in parameters.items() if name not in waiting}


def _entries(raw: Value, place: str) -> Iterator[tuple[Any, str, str]]:
    """Entries, each with its place and symbolic name."""
    if is_object(raw):
        yield from ((entry, member(place, name), name) for name, entry in raw.items())
    elif is_list(raw):
        yield from ((entry, f"{place}[{index}]", "") for index, entry in enumerate(raw))


__all__ = ["MAX_RESOURCES", "Collector", "Found", "UnresolvedError", "read_nested", "read_resource"]
