"""The names that are defined at one place of a template: its parameters, variables, copy loops and scope.

Problems are added to `Shared.problems`, which all frames of a template share, with their place in the document."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.formats.arm_template.names import Names
from azure_gpu.formats.arm_template.scope import Runtime, Scope, ScopeOf
from azure_gpu.formats.arm_template.values import TOO_MUCH, Meter, RefusedError
from azure_gpu.formats.document import Document

MAX_NESTING = 120  # of values, calls and names that need each other, together; Python's stack bears it
MAX_PROBLEMS = 200  # of one template
_ANY = "00000000-0000-0000-0000-000000000000"


class Loop(NamedTuple):
    """One round of a copy loop."""

    name: str
    round: int
    of_values: bool  # of a property or variable, not of a resource or an output


@dataclass(slots=True)
class Shared:
    """What all frames of one template share."""

    document: Document
    meter: Meter = field(default_factory=Meter)
    problems: list[Problem] = field(default_factory=list[Problem])
    runtime: Runtime | None = None
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    depth: int = 0
    scope_of: ScopeOf | None = None
    told_too_much: bool = False

    @contextmanager
    def deeper(self) -> Generator[None, None, None]:
        """One more value or expression inside the one before. RefusedError where there are too many, in depth or in all."""
        self.depth += 1
        try:
            self.meter.spend()
            if self.depth > MAX_NESTING:
                raise RefusedError("values and expressions are nested too deeply")
            yield
        finally:
            self.depth -= 1

    def report(self, place: str, error: RefusedError, expression: str | None = None) -> None:
        """A problem at a path of the document; the same one once."""
        code = Code.UNKNOWN if error.unknown else Code.INVALID
        problem = Problem(self.document.at(place), error.message, expression, fix=error.fix, code=code)
        if error.message == TOO_MUCH and self.told_too_much:
            return
        self.told_too_much = self.told_too_much or error.message == TOO_MUCH
        if len(self.problems) < MAX_PROBLEMS and problem not in self.problems:
            self.problems.append(problem)


@dataclass(frozen=True, slots=True)
class Frame:
    """What names mean at one place of a template."""

    shared: Shared
    scope: Scope
    parameters: Names
    variables: Names
    functions: frozenset[str]  # lower-case full names of the template's own, which aren't imitated
    loops: tuple[Loop, ...] = ()
    find: Callable[[str], tuple[str, str] | None] = lambda _: None  # id and api-version of a resource of the template

    def within(self, loop: Loop) -> "Frame":
        return replace(self, loops=(*self.loops, loop))

    def anywhere(self) -> "Frame":
        """The frame with a place made up where it isn't known."""
        scope = self.scope
        known = scope._replace(
            subscription_id=scope.subscription_id or _ANY,
            resource_group=scope.resource_group or (None if scope.of_subscription else "-"),
            tenant_id=scope.tenant_id or _ANY,
        )
        return replace(self, scope=known)
