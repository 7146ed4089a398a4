"""A stack as a graph: its parts, what depends on what, and who has which role on what."""

from datetime import date
from typing import NamedTuple

from azure_gpu_operations.graph import kinds
from azure_gpu_operations.graph.kinds import Layer
from azure_gpu_operations.graph.machines import Machines


class Part(NamedTuple):
    """One part of a stack."""

    key: str  # of no other part: type and name
    type: str
    name: str  # as the stack file has it
    location: str
    machines: tuple[Machines, ...]
    notes: tuple[str, ...]  # what is in it
    exists: bool  # it isn't the stack's: read, never changed
    most_cost: float | None  # USD an hour with all there can be; None: not known, or it has none
    idle_cost: float | None  # USD an hour while nothing runs
    expires: str  # RFC 3339; empty: never

    @property
    def noun(self) -> str:
        return kinds.kind_of(self.type).noun

    @property
    def layer(self) -> Layer:
        return kinds.kind_of(self.type).layer

    @property
    def has_cost(self) -> bool:
        """Whether an hour of it has a cost of its own; what is attached to a workspace has that of another part."""
        priced = kinds.kind_of(self.type).has_cost and (self.type != kinds.COMPUTE or bool(self.machines))
        return priced or self.idle_cost is not None


class Use(NamedTuple):
    """One part depends on another."""

    part: str  # key
    words: str  # such as `runs in`
    on: str  # key


class Role(NamedTuple):
    """A role assignment: principal, role and scope."""

    who: str  # key of a part
    role: str  # as Azure calls it
    scope: str  # key of a part, or what Azure calls it where it is none


class Graph(NamedTuple):
    """A stack."""

    stack: str
    day: date
    parts: tuple[Part, ...]
    uses: tuple[Use, ...]
    roles: tuple[Role, ...]

    def part(self, key: str) -> Part | None:
        return next((each for each in self.parts if each.key == key), None)


def bare(key: str, token: str, name: str, *, exists: bool = False) -> Part:
    """A part of which only the name is known."""
    return Part(key, token, name, "", (), (), exists=exists, most_cost=None, idle_cost=None, expires="")
