"""Raises all problems of a component at once, as one message without a traceback, before anything is declared."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar

import pulumi

from azure_gpu.catalog.problems import Problem, Severity, errors, render

IN_A_STACK_FILE = "in the configuration, nothing was created"


def _as_it_is(problem: Problem) -> str:
    return str(problem)


SPELLING: ContextVar[Callable[[Problem], str]] = ContextVar("SPELLING", default=_as_it_is)
"""Formats a warning; set for programs in a language with other names."""


class Refused(pulumi.RunError):  # the engine prints only the message of a RunError; any other exception comes with a traceback
    """The arguments are invalid. `problems` holds all of them, and so does the message."""

    def __init__(self, problems: Sequence[Problem], component: str = "") -> None:
        """`component`: the path of a component in a program, such as `BatchPool("train")`; empty for a stack file."""
        where = f"in {component}, nothing of it was declared" if component else IN_A_STACK_FILE
        super().__init__(render(problems, where))
        self.problems = tuple(problems)


def refuse(problems: Sequence[Problem], component: str = "") -> None:
    """Raises `Refused` where one of the problems is an error."""
    forbidding = errors(problems)
    if forbidding:
        raise Refused(forbidding, component)


def without_explained(of_shape: Sequence[Problem], found: Sequence[Problem]) -> list[Problem]:
    """Combines the problems of one component, without those that a problem of its arguments' shape explains: at the same path, or
    about a missing value where a key was misspelt or of a wrong type."""
    paths = {problem.path for problem in of_shape}
    return [*of_shape, *(each for each in found if each.path not in paths and not (of_shape and each.value is None))]


def warn(problems: Sequence[Problem], resource: pulumi.Resource | None = None) -> None:
    """Logs the warnings among the problems in the engine's output."""
    for problem in problems:
        if problem.severity is Severity.WARNING:
            pulumi.log.warn(SPELLING.get()(problem), resource)
