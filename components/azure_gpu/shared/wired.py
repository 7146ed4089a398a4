"""The checked arguments that a component's constructor declares from.

For a stack file, the plan passes the arguments with the resolved spec; for a program, `shared.program` and `foundation.common`
build them from the program's own arguments.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from azure_gpu.catalog.problems import Problem
from azure_gpu.shared import refusal
from azure_gpu.shared.look_up import AskedBy

Args = TypeVar("Args")
Spec = TypeVar("Spec")


@dataclass(frozen=True, slots=True)
class Wired(Generic[Args, Spec]):
    """The arguments of a component with its dependencies, and the resolved spec."""

    args: Args
    spec: Spec | None = None  # None: the component resolves it itself
    problems: Sequence[Problem] = ()  # of the arguments' shape; `args` doesn't contain the invalid ones
    component: str = ""  # path in a program, such as `BatchPool("train")`; empty: from a stack file
    asked_by: AskedBy = field(default_factory=AskedBy)

    def refuse(self, found: Sequence[Problem]) -> None:
        """Raises `Refused` where a problem of the shape or one of `found` is an error. Logs the warnings of a component in a
        program; those of a stack file are logged with the plan."""
        refusal.refuse(refusal.without_explained(self.problems, found), self.component)
        if self.component:
            refusal.warn(found)
