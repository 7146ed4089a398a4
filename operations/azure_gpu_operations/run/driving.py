"""The sequence of every run: prepare, start, follow, report cost, clean up; and the handling of Ctrl-C.

WrongRunError if nothing was started, RunError if the run itself failed.
"""

import sys
from collections.abc import Callable
from typing import Literal, NamedTuple

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.exit_codes import INTERRUPTED, OK
from azure_gpu_operations.run.protocol import Cost, EndedFromOutsideError, Output, Plan, Run

Choice = Literal["stop", "detach"]
STOP: Choice = "stop"
DETACH: Choice = "detach"


def choice(ask: Callable[[], str] | None = None) -> Choice:
    """A second Ctrl-C, end of input, and any answer except detach stop the run."""
    if ask is None:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return STOP
        ask = _ask
    try:
        answer = ask()
    except (KeyboardInterrupt, EOFError):
        return STOP
    return DETACH if answer.strip().lower().startswith("d") else STOP


def _ask() -> str:
    print("\nstop the run, or leave it running? [S]top, [d]etach: ", end="", file=sys.stderr, flush=True)
    return input()


class Driven(NamedTuple):
    """The result of a run."""

    code: int
    name: str = ""  # in Azure
    cost: Cost | None = None  # None: detached


def drive(plan: Plan, output: Output, stack: str, *, detach: bool = False, choose: Callable[[], Choice] = choice) -> Driven:
    """`stack`: its name, for commands in messages; "" without a stack."""
    with plan(output) as run:
        try:
            run.start()
            if detach:
                return _detached(run, output, stack, OK)
            outcome = run.follow()
        except EndedFromOutsideError:
            return _stopped(run, output)
        except KeyboardInterrupt:
            if run.name and run.can_be_left and choose() == DETACH:
                return _detached(run, output, stack, INTERRUPTED)
            return _stopped(run, output)
        cost = run.cost()
        output.say(f"{run.place}: {outcome.words}; {cost.words}")
        run.settle()
        return Driven(outcome.code, run.name, cost)


def follow(run: Run, output: Output, stack: str) -> Driven:
    """Follows a run that was started earlier. Ctrl-C ends this command but not the run."""
    try:
        outcome = run.follow()
    except KeyboardInterrupt:
        return _detached(run, output, stack, INTERRUPTED)
    cost = run.cost()
    output.say(f"{run.place}: {outcome.words}; {cost.words}")
    if outcome.code:
        output.say(f"why: {COMMAND} explain {run.name} --stack {stack}")
    return Driven(outcome.code, run.name, cost)


def _detached(run: Run, output: Output, stack: str, code: int) -> Driven:
    output.say(f"detached, still running: {run.name}; its log: {COMMAND} logs {run.name} --stack {stack}")
    return Driven(code, run.name)


def _stopped(run: Run, output: Output) -> Driven:
    """Reports the final cost; if the run couldn't be stopped, `stop` has reported it."""
    if not run.stop():
        return Driven(INTERRUPTED, run.name)
    cost = run.cost()
    output.say(f"{run.place}: stopped on Ctrl-C; {cost.words}")
    return Driven(INTERRUPTED, run.name, cost)
