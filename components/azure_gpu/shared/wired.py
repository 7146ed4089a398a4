"""Arguments of a component that are checked and wired: what a constructor declares from, whoever described it.

A plan hands a component its arguments with the spec that it decided; a program's own arguments become the same by
`shared.program` and `foundation.common`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from azure_gpu.catalog.problems import Problem
from azure_gpu.shared import refusal
from azure_gpu.shared.look_up import AskedBy

Args = TypeVar("Args")
Spec = TypeVar("Spec")


@dataclass(frozen=True, slots=True)
class Wired(Generic[Args, Spec]):
    """Arguments with what the component is wired to, and what was decided of them."""

    args: Args
    spec: Spec | None = None  # None: the component decides by itself
    problems: Sequence[Problem] = ()  # of the arguments' shape; what is wrong isn't among them
    component: str = ""  # that a program describes, such as `BatchPool("train")`; empty: a stack file does
    asked_by: AskedBy = field(default_factory=AskedBy)

    def refuse(self, found: Sequence[Problem]) -> None:
        """Raises `Refused` where a problem of the shape or one of `found` forbids going on. Shows warnings of a component that a
        program describes; those of a stack file are shown with the plan."""
        refusal.refuse(refusal.without_explained(self.problems, found), self.component)
        if self.component:
            refusal.warn(found)


def together(args: object, keywords: Mapping[str, Any]) -> object:
    """The arguments of a constructor that takes them as one object, as keywords, or both; of what is in both, the keyword."""
    if args is None:
        return dict(keywords)
    return {**cast(Mapping[str, Any], args), **keywords} if isinstance(args, Mapping) else args
