"""The interface of services that run programs: a plan that can be started, and a run that can be followed; and its errors.

Every service implements it in its package `run/on_<service>`; `driving` defines the order of the steps, the handling of Ctrl-C
and the exit code. Making a plan is pure: problems with the command line and the stack's outputs are known before. Entering it
validates against Azure and prepares images, files, secrets or a machine; leaving it removes what was needed for this run only.
"""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Decimal
from functools import partial
from typing import NamedTuple, Protocol

from azure_gpu.catalog.problems import Problem

# The services, as `--on` names them.
JOB, BATCH, AKS, EDGE, LOCAL, VM, ML_CLUSTER = "job", "batch", "aks", "edge", "local", "vm", "cluster"
PLACES = (LOCAL, JOB, BATCH, AKS, EDGE, VM, ML_CLUSTER)

Say = Callable[[str], None]


class Output(NamedTuple):
    """Destinations of the lines of a run."""

    show: Say  # what the program writes to standard output
    show_error: Say  # what it writes to standard error, if the service separates it
    say: Say  # messages about the run


def on_screen() -> Output:
    """The program's output goes to standard output, everything else to standard error."""
    on_standard_error = partial(print, file=sys.stderr, flush=True)
    return Output(show=partial(print, flush=True), show_error=on_standard_error, say=on_standard_error)


class Cost(NamedTuple):
    """The cost of a run so far."""

    words: str  # minutes, USD and the price, or that nothing ran
    usd: Decimal | None = None  # None: not known
    seconds: float | None = None  # billed; None: unknown


class Outcome(NamedTuple):
    """How a run ended."""

    code: int  # the program's exit code, or one of `exit_codes`
    words: str  # for people: `succeeded, exit code 0`


class Run(Protocol):
    """One run on one service. Errors: RunError, and those of the clients of Azure and Kubernetes."""

    @property
    def place(self) -> str:
        """The part that it runs on, by its name in the stack file."""
        ...

    @property
    def name(self) -> str:
        """Its name in Azure, for `logs`, `stop` and `explain`; "" before the start if the service chooses the name."""
        ...

    @property
    def can_be_left(self) -> bool:
        """Whether it can be detached: it doesn't depend on anything that is removed when this command ends."""
        ...

    def start(self) -> None:
        """Starts it. WrongRunError if the service rejects it; then nothing was started."""
        ...

    def follow(self) -> Outcome:
        """Shows its output until it ends. RunError if it was deleted; KeyboardInterrupt passes through."""
        ...

    def stop(self) -> bool:
        """Stops it in Azure in any state. Returns False, after a message, if it may still be running and billed."""
        ...

    def cost(self) -> Cost: ...

    def settle(self) -> None:
        """Cleans up in Azure after its end, and reports what stays and why."""
        ...


Plan = Callable[[Output], AbstractContextManager[Run]]


class RunError(Exception):
    """The run can't go on. The text is for the user."""


class WrongRunError(RunError):
    """The service rejects the run; nothing was started."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


class EndedFromOutsideError(KeyboardInterrupt):
    """The process got SIGTERM, so the user can't be asked."""
