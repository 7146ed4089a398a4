"""Defines `Policy`: a rule for one resource or for the stack, with a name, a level and settings.

What people read of a policy, its level and its severity are rows of `policies.tsv`. Pure; `pack` converts them to Pulumi's.
"""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.dates import parse_day
from azure_gpu.formats.tags import AS_OF
from azure_gpu_policies.known import text
from azure_gpu_policies.resources import Resource, Stack


class Setting(NamedTuple):
    """A setting of a policy: JSON Schema, with a description and a default."""

    name: str
    schema: Mapping[str, Any]

    @property
    def default(self) -> Any:
        return self.schema["default"]


def texts(name: str, description: str, default: Sequence[str] = ()) -> Setting:
    schema = {"type": "array", "items": {"type": "string"}, "description": description, "default": list(default)}
    return Setting(name, schema)


def number(name: str, description: str, default: float, least: float = 0) -> Setting:
    return Setting(name, {"type": "number", "minimum": least, "description": description, "default": default})


def switch(name: str, description: str, default: bool) -> Setting:
    return Setting(name, {"type": "boolean", "description": description, "default": default})


EXCEPTIONS = texts("exceptions", "URNs that the policy doesn't apply to; `*` stands for any text, such as `*:Pool::train`")
DATED = (
    Setting(
        "as_of",
        {
            "type": "string",
            "description": "The date at which resources are evaluated, YYYY-MM-DD; empty: today",
            "pattern": r"^(\d{4}-\d{2}-\d{2})?$",
            "default": "",
        },
    ),
    switch(
        "as_of_tag",
        f"Whether a resource with the tag `{AS_OF}`, which the library sets where a stack has another date of evaluation, is "
        "evaluated at that date",
        True,
    ),
)


class PolicySettings:
    """The configured settings of a policy, and the date."""

    def __init__(self, settings: Sequence[Setting], configured: Mapping[str, Any], today: date) -> None:
        self._values = {each.name: configured.get(each.name, each.default) for each in settings}
        self._today = today

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def words(self, name: str) -> frozenset[str]:
        """Returns a list setting in lower case."""
        return frozenset(str(each).lower() for each in self._values[name])

    def day(self, *resources: Resource) -> date:
        """Returns the date of evaluation: the setting, else the first resource's tag, where tags are allowed, else today."""
        set_day = parse_day(str(self._values["as_of"]))
        if set_day is not None:
            return set_day
        for each in resources if self._values["as_of_tag"] else ():
            tagged = parse_day(text(each.properties, "tags", AS_OF))
            if tagged is not None:
                return tagged
        return self._today

    def excepts(self, urn: str) -> bool:
        return any(fnmatchcase(urn, str(pattern)) for pattern in self._values[EXCEPTIONS.name])

    def problem(self) -> Problem | None:
        """Rejects a date that isn't in the calendar; the engine checks only its form."""
        as_of = str(self._values.get("as_of", ""))
        if not as_of or parse_day(as_of) is not None:
            return None
        fix = "set a valid date, or remove it to use today"
        return Problem("the setting as_of", "not a valid date", as_of, "a day as YYYY-MM-DD", fix)


OfResource = Callable[[Resource, PolicySettings], Iterable[Problem]]
OfStack = Callable[[Stack, PolicySettings], Iterable[tuple[Resource | None, Problem]]]


class Policy(NamedTuple):
    """A policy, with one of the two rules: that of a stack is evaluated once, when all resources are declared."""

    name: str
    title: str
    description: str
    level: str  # Pulumi's enforcement level: an advisory violation is reported, a mandatory one fails the preview or update
    severity: str  # Pulumi's: low, medium, high, critical
    fix: str
    of_resource: OfResource | None = None
    of_stack: OfStack | None = None
    own_settings: tuple[Setting, ...] = ()

    @property
    def settings(self) -> tuple[Setting, ...]:
        return (*self.own_settings, EXCEPTIONS)

    def configured(self, values: Mapping[str, Any], today: date) -> PolicySettings:
        return PolicySettings(self.settings, values, today)

    def judge(self, resource: Resource, configured: Mapping[str, Any], today: date) -> list[Problem]:
        """Returns the problems of one resource; empty for a policy of a stack."""
        settings = self.configured(configured, today)
        if self.of_resource is None or settings.excepts(resource.urn):
            return []
        wrong = settings.problem()
        if wrong is not None:
            return [wrong]
        return list({str(each): each for each in self.of_resource(resource, settings)}.values())

    def judge_stack(self, stack: Stack, configured: Mapping[str, Any], today: date) -> list[tuple[Resource | None, Problem]]:
        """Returns the problems of the stack, each with its resource; empty for a policy of resources."""
        settings = self.configured(configured, today)
        if self.of_stack is None:
            return []
        wrong = settings.problem()
        if wrong is not None:
            return [(None, wrong)]
        kept = [each for each in self.of_stack(stack, settings) if each[0] is None or not settings.excepts(each[0].urn)]
        return list({(each.urn if each else "", str(problem)): (each, problem) for each, problem in kept}.values())


with Path(__file__).with_name("policies.tsv").open(encoding="utf-8", newline="") as _rows:
    _TEXTS = {row["name"]: row for row in csv.DictReader(_rows, delimiter="\t", quoting=csv.QUOTE_NONE)}


def policy(
    name: str,
    *,
    of_resource: OfResource | None = None,
    of_stack: OfStack | None = None,
    own_settings: tuple[Setting, ...] = (),
) -> Policy:
    """Returns the policy of this row of `policies.tsv`, with its rule."""
    return Policy(**_TEXTS[name], of_resource=of_resource, of_stack=of_stack, own_settings=own_settings)
