"""What comes out of a template: resources, nested templates, and outputs.

An output has a type and a value, or a loop of values; one whose condition doesn't hold isn't there."""

from collections.abc import Mapping
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.arm_template.evaluation import Reading
from azure_gpu.formats.arm_template.frame import Frame, Loop
from azure_gpu.formats.arm_template.parameters import SECURE, TYPES
from azure_gpu.formats.arm_template.values import RefusedError, Value, is_object, kind_of
from azure_gpu.formats.lenient_json import member


class Output(NamedTuple):
    """One output. `value` is the expression's text where `unresolved`."""

    type: str  # as the template spells it
    value: Value
    path: str
    secure: bool  # its type hides its value
    unresolved: Mapping[str, str]


class Nested(NamedTuple):
    """The template of a nested deployment."""

    template: dict[str, Value]
    path: str
    mode: str
    inner: bool  # its expressions see its own parameters, not those of the template around it
    parameters: Mapping[str, Value]  # evaluated, for `inner`
    subscription_id: str | None
    resource_group: str | None


class TemplateResource(NamedTuple):
    """One resource to deploy: a template's entry whose condition holds, or one round of its copy loop."""

    body: dict[str, Value]  # type, apiVersion, name, location, tags, properties, …
    path: str  # in the document
    depends_on: tuple[str, ...]  # keys of others
    key: str  # type and name together, in lower case: microsoft.network/virtualnetworks/lan/subnets/one
    id: str  # "" where the scope isn't known
    unresolved: Mapping[
        str, str
    ]  # by path in `body`: expressions that are deferred or have failed; the body has their text there
    secrets: tuple[str, ...]  # paths in `body` of what comes from a secure parameter
    nested: "Nested | None" = None
    expanded: "Expanded | None" = None  # of a nested deployment, as far as it can be known
    frame: Frame | None = None  # for `finish`
    source: Mapping[str, Value] | None = None  # the entry as written, for `finish`
    existing: bool = False  # is there already; only referred to

    @property
    def name(self) -> str:
        return str(self.body.get("name", ""))

    @property
    def type(self) -> str:
        return str(self.body.get("type", ""))


class Expanded(NamedTuple):
    """A template with its expressions evaluated."""

    resources: tuple[TemplateResource, ...]
    outputs: Mapping[str, Output]
    problems: list[Problem]
    parameters: Mapping[str, Value]  # all of them, in the template's spelling; those that have failed are missing
    secure_parameters: frozenset[str]
    parameter_types: Mapping[str, str]
    frame: Frame | None = None  # for `finish_outputs`
    raw_outputs: tuple[Value, str] = (None, "")  # as written, and where they stand

    def everything(self) -> tuple[TemplateResource, ...]:
        """The resources, those of nested deployments in the place of these."""
        return tuple(
            below for each in self.resources for below in (each.expanded.everything() if each.expanded is not None else (each,))
        )


MAX_OUTPUTS = 64  # Microsoft Learn, azure-resource-manager/templates/best-practices


def read_outputs(raw: Value, place: str, frame: Frame) -> dict[str, Output]:
    """The outputs by name. Problems go to the template's list."""
    if raw is None:
        return {}
    if not is_object(raw):
        frame.shared.report(place, RefusedError("the outputs are not an object"))
        return {}
    if len(raw) > MAX_OUTPUTS:
        frame.shared.report(place, RefusedError(f"the template has more than {MAX_OUTPUTS} outputs"))
        return {}
    outputs: dict[str, Output] = {}
    for name, entry in raw.items():
        where = member(place, name)
        if not is_object(entry) or not ("value" in entry or "copy" in entry):
            frame.shared.report(where, RefusedError(f"the output '{name}' has no value", 'write {"type": …, "value": …}'))
        elif str(entry.get("type", "")).lower() not in TYPES:
            frame.shared.report(where, RefusedError(f"the output '{name}' has no known type", f"known are {', '.join(TYPES)}"))
        elif _condition(entry, where, frame):
            outputs[name] = _output(name, entry, where, frame)
    return outputs


def _condition(entry: dict[str, Value], place: str, frame: Frame) -> bool:
    if "condition" not in entry:
        return True
    reading = Reading(frame)
    value = reading.value(entry["condition"], member(place, "condition"))
    if not reading.failed and not isinstance(value, bool):
        frame.shared.report(member(place, "condition"), RefusedError(f"the condition is {kind_of(value)}, not true or false"))
    return value is True


def _output(name: str, entry: dict[str, Value], place: str, frame: Frame) -> Output:
    reading = Reading(frame, deferrable=True)
    kind = str(entry["type"])
    loop = entry.get("copy")
    if is_object(loop):
        value: Value = _looped(loop, member(place, "copy"), frame, reading)
    else:
        value = reading.value(entry.get("value"), member(place, "value"))
    if not reading.failed and not reading.unresolved and not TYPES[kind.lower()](value):
        frame.shared.report(place, RefusedError(f"the output '{name}' is of type {kind}, and its value is {kind_of(value)}"))
    return Output(kind, value, place, kind.lower() in SECURE, reading.unresolved)


def _looped(loop: dict[str, Value], place: str, frame: Frame, reading: Reading) -> list[Value]:
    count = reading.count(loop.get("count"), member(place, "count"))
    values: list[Value] = []
    for index in range(count):
        if frame.shared.meter.exhausted:
            break
        reading.frame = frame.within(Loop("", index, of_values=False))
        values.append(reading.value(loop.get("input"), member(place, "input"), f"[{index}]"))
    reading.frame = frame
    return values
