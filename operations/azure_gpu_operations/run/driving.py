"""The sequence of every run: prepare, start, follow, report cost, clean up; and the handling of Ctrl-C.

WrongRunError if nothing was started, RunError if the run itself failed.
"""

from collections.abc import Callable
from typing import NamedTuple

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.exit_codes import INTERRUPTED, OK
from azure_gpu_operations.run.ended import EndedFromOutsideError
from azure_gpu_operations.run.protocol import Cost, Output, Plan, Run
from azure_gpu_operations.run.stopping import DETACH, Choice, choice


class Driven(NamedTuple):
    """The result of a run."""

    code: int
    name: str = ""  # in Azure
    cost: Cost | None = None  # None: detached
    kept_as: str = ""  # the name under which its files are kept


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
        return Driven(outcome.code, run.name, cost, run.kept_as)


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
