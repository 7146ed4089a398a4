"""What a policy is: a rule over one resource or over the stack, with a name, a level and settings.

`Policy`, `Setting`, `Given`. Pure; `pack` makes Pulumi's policies of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.dates import parse_day
from azure_gpu.formats.tags import AS_OF
from azure_gpu_policies.known import text
from azure_gpu_policies.resources import Resource, Stack


class Level(StrEnum):
    """What a violation does, in Pulumi's words."""

    ADVISORY = "advisory"  # it is told
    MANDATORY = "mandatory"  # the preview or update fails
    DISABLED = "disabled"


class Severity(StrEnum):
    """How much a violation matters, in Pulumi's words."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Setting(NamedTuple):
    """One setting of a policy: JSON Schema, with a description and a default."""

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
            "description": "The day that resources are judged at, YYYY-MM-DD; empty: today",
            "pattern": r"^(\d{4}-\d{2}-\d{2})?$",
            "default": "",
        },
    ),
    switch(
        "as_of_tag",
        f"Whether a resource with the tag `{AS_OF}`, which the library writes where a stack is judged at another day, is judged "
        "at that day",
        True,
    ),
)


class Given:
    """The settings of a policy as somebody configured them, and the day."""

    def __init__(self, settings: Sequence[Setting], configured: Mapping[str, Any], today: date) -> None:
        self._values = {each.name: configured.get(each.name, each.default) for each in settings}
        self._today = today

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def words(self, name: str) -> frozenset[str]:
        """A list of words, letter case aside."""
        return frozenset(str(each).lower() for each in self._values[name])

    def day(self, *resources: Resource) -> date:
        """At which a resource is judged: the first that has a day of its own tells it, if that is allowed to."""
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
        """A day that the calendar doesn't have: its form is right, so the engine lets it through."""
        as_of = str(self._values.get("as_of", ""))
        if not as_of or parse_day(as_of) is not None:
            return None
        fix = "write a day of the calendar, or leave it out to judge at today"
        return Problem("the setting as_of", "the calendar has no such day", as_of, "a day as YYYY-MM-DD", fix)


OfResource = Callable[[Resource, Given], Iterable[Problem]]
OfStack = Callable[[Stack, Given], Iterable[tuple[Resource | None, Problem]]]


class Policy(NamedTuple):
    """One policy. It has one of the two rules: that of a stack is asked once, when all resources are declared."""

    name: str
    title: str
    description: str
    level: Level
    severity: Severity
    fix: str
    of_resource: OfResource | None = None
    of_stack: OfStack | None = None
    own_settings: tuple[Setting, ...] = ()

    @property
    def settings(self) -> tuple[Setting, ...]:
        return (*self.own_settings, EXCEPTIONS)

    def given(self, configured: Mapping[str, Any], today: date) -> Given:
        return Given(self.settings, configured, today)

    def judge(self, resource: Resource, configured: Mapping[str, Any], today: date) -> list[Problem]:
        """What speaks against one resource; nothing, for a policy of a stack."""
        given = self.given(configured, today)
        if self.of_resource is None or given.excepts(resource.urn):
            return []
        wrong = given.problem()
        if wrong is not None:
            return [wrong]
        return list({str(each): each for each in self.of_resource(resource, given)}.values())

    def judge_stack(self, stack: Stack, configured: Mapping[str, Any], today: date) -> list[tuple[Resource | None, Problem]]:
        """What speaks against the stack, with the resource that it is about; nothing, for a policy of resources."""
        given = self.given(configured, today)
        if self.of_stack is None:
            return []
        wrong = given.problem()
        if wrong is not None:
            return [(None, wrong)]
        kept = [each for each in self.of_stack(stack, given) if each[0] is None or not given.excepts(each[0].urn)]
        return list({(each.urn if each else "", str(problem)): (each, problem) for each, problem in kept}.values())
