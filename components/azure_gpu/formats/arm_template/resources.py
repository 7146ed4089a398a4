"""Reads a template's resources: conditions, copy loops, children inside of `resources`, nested deployments.

The result is one `TemplateResource` for each resource that is to be deployed, with its raw `dependsOn`, which `dependencies`
resolves."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from azure_gpu.formats.arm_ids import RESOURCE_GROUP_TYPE
from azure_gpu.formats.arm_template import context_functions, syntax
from azure_gpu.formats.arm_template.evaluation import Reading, condition
from azure_gpu.formats.arm_template.frame import Frame, Scope
from azure_gpu.formats.arm_template.model import Nested, TemplateResource
from azure_gpu.formats.arm_template.values import RefusedError, Value, is_list, is_object, kind_of
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
    asked: list[str]  # what it refers to by `reference` and `list…`
    deployed: bool  # False where its condition doesn't hold
    waiting: bool  # a value of it is known only to the running deployment
    depends_on: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])  # evaluated `dependsOn`, with their paths
    loop: str = ""  # name of its copy loop, lower case; "" where there is none
    round: int = 0
    waits_for: int = -1  # rounds of its loop that have to end before; -1: none
    symbol: str = ""  # symbolic name, lower case; "" where there is none


@dataclass(slots=True)
class Collector:
    """All resources of one template, in the order of the file."""

    frame: Frame
    found: list[Found] = field(default_factory=list[Found])
    full: bool = False

    def collect(self, raw: Value, place: str, frame: Frame | None = None, above: tuple[str, str] = ("", "")) -> None:
        """A list of resources, or an object of them by symbolic name. `above`: type and name of the one that they are children
        of."""
        for entry, where, symbol in entries(raw, place):
            if not is_object(entry):
                self._refuse(where, f"a resource is {kind_of(entry)}, not an object")
                continue
            for inner, loop, index, waits_for in self._rounds(entry, where, frame or self.frame):
                self._one(entry, where, inner, above, loop=loop, round=index, waits_for=waits_for, symbol=symbol.lower())

    def _rounds(self, entry: dict[str, Value], place: str, frame: Frame) -> Iterator[tuple[Frame, str, int, int]]:
        """Once, or each round of the copy loop: its frame, the loop's name, the round, and the rounds that it waits for."""
        loop = entry.get("copy")
        if loop is None:
            yield frame, "", 0, -1
        elif not is_object(loop) or not isinstance(loop.get("name"), str):
            self._refuse(member(place, "copy"), "a copy loop of a resource needs a name and a count")
        else:
            name, reading, size = str(loop["name"]).lower(), Reading(frame), loop.get("batchSize", 1)
            batch = size if isinstance(size, int) and size > 0 else 1
            serial = str(loop.get("mode", "parallel")).lower() == "serial"
            for index in reading.rounds(loop, member(place, "copy"), name):
                yield reading.frame, name, index, index // batch * batch if serial else -1

    def _one(self, entry: dict[str, Value], place: str, frame: Frame, above: tuple[str, str], **of_loop: Any) -> None:
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
        found = read_resource(entry, place, frame, head)
        self.found.append(replace(found, depends_on=depends_on, asked=[*asked, *found.asked], **of_loop))
        if not found.resource.nested:
            self.collect(entry.get("resources"), member(place, "resources"), frame, (head["type"], head["name"]))

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
        self.frame.shared.refuse(place, message, fix)


def read_resource(entry: dict[str, Value], place: str, frame: Frame, head: dict[str, str]) -> Found:
    """A resource whose condition isn't known counts as deployed: what else is wrong with it is to be found as well."""
    deployed = condition(entry, place, frame, text_too=True) is not False
    nested, of_nested = None, Reading(frame)
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
            nested, of_nested = read_nested(entry, place, frame)
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
    waiting = bool(reading.unresolved or (nested and of_nested.unresolved))
    return Found(resource, [*reading.asked, *of_nested.asked], deployed, waiting)


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
    reading, refuse = Reading(frame, deferrable=True), frame.shared.refuse
    properties, where = entry.get("properties"), member(place, "properties")
    if not is_object(properties):
        refuse(where, "a nested deployment has no properties")
        return None, reading
    for key in ("templateLink", "parametersLink"):
        if key in properties:
            refuse(member(where, key), f"{key} is not followed", "write the template into the nested deployment")
            return None, reading
    template = properties.get("template")
    if not is_object(template):
        refuse(member(where, "template"), "a nested deployment has no template")
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
            refuse(at, f"the parameter '{name}' has no value", 'write {"value": …}')
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


def entries(raw: Value, place: str) -> Iterator[tuple[Any, str, str]]:
    """Entries, each with its place and symbolic name."""
    if is_object(raw):
        yield from ((entry, member(place, name), name) for name, entry in raw.items())
    elif is_list(raw):
        yield from ((entry, f"{place}[{index}]", "") for index, entry in enumerate(raw))
