"""What each service that runs programs is to the commands: a plan that can be started, and a run that can be followed.

Every service implements it in a package of its own, `run/on_<service>`; `driving` is the only place that knows the order of the
steps, what Ctrl-C does at each of them, and the exit code. A plan is pure to make: what is wrong with the command line and with
the stack's outputs is known before it is made. To enter it validates against Azure and puts everything in its place (images,
files, secrets, a machine that has to be started); to leave it takes away what lay there for this run only.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import NamedTuple, Protocol

Say = Callable[[str], None]


class Output(NamedTuple):
    """Where the lines of a run go."""

    show: Say  # what the program writes to standard output
    show_error: Say  # what it writes to standard error, where the service keeps the two apart
    say: Say  # what is told about the run


class Cost(NamedTuple):
    """What a run has cost until now."""

    words: str  # minutes, USD and the price they come from, or that nothing ran
    usd: Decimal | None = None  # None: not known
    seconds: float | None = None  # for which something was billed; None: not known


class Outcome(NamedTuple):
    """How a run ended."""

    code: int  # the program's exit code, or one of `exit_codes`
    words: str  # for people: `succeeded, exit code 0`


class Run(Protocol):
    """One run on one service. Errors: RunError, and those of Azure's and the cluster's clients."""

    @property
    def place(self) -> str:
        """What it runs on, by the name that the stack file has for it."""
        ...

    @property
    def name(self) -> str:
        """Its name in Azure, by which `logs`, `stop`, `fetch` and `explain` find it; "" before it is started where the service
        gives the name."""
        ...

    @property
    def kept_as(self) -> str:
        """The name under which the stack's storage account keeps what it leaves; "" where nothing is kept."""
        ...

    @property
    def can_be_left(self) -> bool:
        """Whether it needs this command no more: nothing of it is taken away when the command ends."""
        ...

    def start(self) -> None:
        """Sends it. WrongRunError where the service refuses it: nothing was started."""
        ...

    def follow(self) -> Outcome:
        """Shows its output until it ends. RunError where somebody has deleted it; KeyboardInterrupt passes through."""
        ...

    def stop(self) -> bool:
        """Ends it in Azure, whatever `start` and `follow` have reached. False where it may still run, and cost, which it says."""
        ...

    def cost(self) -> Cost: ...

    def settle(self) -> None:
        """Removes from Azure what nobody needs after it has been followed to its end, and says what stays and why."""
        ...


Plan = Callable[[Output], AbstractContextManager[Run]]
