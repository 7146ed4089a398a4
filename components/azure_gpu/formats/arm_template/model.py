"""What comes out of a template: resources, nested templates, and outputs.

An output has a type and a value, or a loop of values; one whose condition doesn't hold isn't there."""

from collections.abc import Mapping
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.arm_template.evaluation import Reading, condition
from azure_gpu.formats.arm_template.frame import Frame
from azure_gpu.formats.arm_template.parameters import SECURE, TYPES
from azure_gpu.formats.arm_template.values import Value, is_object, kind_of
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
    unresolved: Mapping[str, str]  # by path in `body`: what is deferred or has failed; the body has its text there
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
    refuse = frame.shared.refuse
    if not is_object(raw):
        refuse(place, "the outputs are not an object")
        return {}
    if len(raw) > MAX_OUTPUTS:
        refuse(place, f"the template has more than {MAX_OUTPUTS} outputs")
        return {}
    outputs: dict[str, Output] = {}
    for name, entry in raw.items():
        where = member(place, name)
        if not is_object(entry) or not ("value" in entry or "copy" in entry):
            refuse(where, f"the output '{name}' has no value", 'write {"type": …, "value": …}')
        elif str(entry.get("type", "")).lower() not in TYPES:
            refuse(where, f"the output '{name}' has no known type", f"known are {', '.join(TYPES)}")
        elif condition(entry, where, frame):
            outputs[name] = _output(name, entry, where, frame)
    return outputs


def _output(name: str, entry: dict[str, Value], place: str, frame: Frame) -> Output:
    reading = Reading(frame, deferrable=True)
    kind, loop = str(entry["type"]), entry.get("copy")
    value: Value = (
        reading.inputs(loop, member(place, "copy"), "")
        if is_object(loop)
        else reading.value(entry.get("value"), member(place, "value"))
    )
    if not reading.failed and not reading.unresolved and not TYPES[kind.lower()][0](value):
        frame.shared.refuse(place, f"the output '{name}' is of type {kind}, and its value is {kind_of(value)}")
    return Output(kind, value, place, kind.lower() in SECURE, reading.unresolved)
