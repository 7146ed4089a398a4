"""What names mean at one place of a template: its scope, parameters, variables and copy loops.

Parameters and variables are evaluated once, when they are first used; those that need each other in a circle are a problem that
names the circle. Problems are added to `Shared.problems`, which all frames of a template
share, with their place in the document."""

import difflib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.formats.arm_template.values import TOO_MUCH, Meter, RefusedError, UnresolvedError, Value
from azure_gpu.formats.document import Document


class Scope(NamedTuple):
    """Where a template is deployed. None: not known; an expression that needs it is a problem that names it."""

    subscription_id: str | None = None
    tenant_id: str | None = None
    resource_group: str | None = None
    location: str | None = None  # of the resource group
    deployment: str | None = None
    tags: Mapping[str, str] | None = None  # of the resource group
    environment: Mapping[str, Any] | None = None  # what environment() answers
    of_subscription: bool = False  # deployed to the subscription itself, without a resource group

    @property
    def base_id(self) -> str | None:
        """What the ids of the resources begin with."""
        return f"/subscriptions/{self.subscription_id}" if self.of_subscription and self.subscription_id else self.group_id

    @property
    def group_id(self) -> str | None:
        if self.subscription_id is None or self.resource_group is None:
            return None
        return f"/subscriptions/{self.subscription_id}/resourceGroups/{self.resource_group}"


ScopeOf = Callable[[str], Scope]  # by the name of a resource group


class Ask(NamedTuple):
    """A call of `reference` or of a function `list…`."""

    function: str
    resource: str  # an id, or a name if the resource isn't in the template
    version: str  # "" where none is given and the resource isn't of this template
    full: bool = False
    body: Value = None


Runtime = Callable[[Ask], Value]  # answers, or DEFERRED where it doesn't know yet; RefusedError


Made = tuple[Value, bool]  # the value, and whether a secret is in it


class Names:
    """Parameters or variables; names are compared without regard to letter case."""

    def __init__(self, what: str) -> None:
        self._what = what  # "parameter" or "variable"
        self._makers: dict[str, tuple[str, Callable[[], Made]]] = {}
        self._made: dict[str, Made | None] = {}
        self._under_way: list[str] = []

    def add(self, name: str, make: Callable[[], Made]) -> None:
        self._makers[name.lower()] = name, make

    def value(self, name: str) -> Made:
        """UnresolvedError where its evaluation has failed before, RefusedError where there is none of the name."""
        key = name.lower()
        if key not in self._makers:
            near = difflib.get_close_matches(key, self._makers, n=1, cutoff=0.75)
            raise RefusedError(
                f"the template has no {self._what} '{name}'", f"is '{self._makers[near[0]][0]}' meant?" if near else ""
            )
        if key in self._under_way:
            circle = [*self._under_way[self._under_way.index(key) :], key]
            raise RefusedError(
                f"the {self._what}s {' → '.join(self._makers[each][0] for each in circle)} need each other in a circle"
            )
        if key not in self._made:
            self._make(key)
        made = self._made[key]
        if made is None:
            raise UnresolvedError
        return made

    def values(self) -> dict[str, Made]:
        """Those that have a value, all of them evaluated."""
        made: dict[str, Made] = {}
        for name, _ in self._makers.values():
            try:
                made[name] = self.value(name)
            except UnresolvedError:
                continue
        return made

    def _make(self, key: str) -> None:
        self._under_way.append(key)
        try:
            self._made[key] = self._makers[key][1]()
        except UnresolvedError:
            self._made[key] = None
        finally:
            self._under_way.pop()


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

    def refuse(self, place: str, message: str, fix: str = "", *, value: object = None, allowed: str = "") -> None:
        self.report(place, RefusedError(message, fix), value, allowed)

    def report(self, place: str, error: RefusedError, value: object = None, allowed: str = "") -> None:
        """A problem at a path of the document; the same one once. `value`: the expression, or what is wrong."""
        code = Code.UNKNOWN if error.unknown else Code.INVALID
        problem = Problem(self.document.at(place), error.message, value, allowed, error.fix, code=code)
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
