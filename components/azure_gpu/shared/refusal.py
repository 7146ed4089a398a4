"""How the program refuses: all problems at once, as one message without a traceback, before anything is declared."""

from collections.abc import Sequence

import pulumi

from azure_gpu.catalog.problems import Problem, Severity, errors, render


class Refused(pulumi.RunError):  # the engine prints a RunError's message alone; any other exception comes with a traceback
    """What the settings ask for can't be had. `problems` holds every reason, the message all of them."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render(problems))
        self.problems = tuple(problems)


def refuse(problems: Sequence[Problem]) -> None:
    """Raises `Refused` where one of the problems forbids going on."""
    forbidding = errors(problems)
    if forbidding:
        raise Refused(forbidding)


def warn(problems: Sequence[Problem]) -> None:
    """Shows the warnings among the problems in the engine's output."""
    for problem in problems:
        if problem.severity is Severity.WARNING:
            pulumi.log.warn(str(problem))
