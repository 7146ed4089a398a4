"""What comes out of a template: resources, outputs, nested templates."""

from collections.abc import Mapping
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.arm_template.frame import Frame
from azure_gpu.formats.arm_template.values import Value


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
