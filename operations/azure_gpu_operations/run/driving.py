"""The one order in which every run goes: prepared, started, followed, summed up; and what ends it on the way.

In: a `Plan` of any service, where lines go. Out: a `Driven`; WrongRunError where nothing was started, RunError where the run
failed by itself.
"""

from collections.abc import Callable
from typing import NamedTuple

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.exit_codes import INTERRUPTED, OK
from azure_gpu_operations.run.ended import EndedFromOutsideError
from azure_gpu_operations.run.protocol import Cost, Output, Plan, Run
from azure_gpu_operations.run.stopping import DETACH, Choice, choice


class Driven(NamedTuple):
    """How a run went."""

    code: int
    name: str = ""  # in Azure
    cost: Cost | None = None  # None: it was left running
    kept_as: str = ""  # the name under which its files are kept


def drive(plan: Plan, output: Output, stack: str, *, detach: bool = False, choose: Callable[[], Choice] = choice) -> Driven:
    """`stack`: its name, for the commands that are named; "" for a run without one."""
    with plan(output) as run:
        try:
            run.start()
            if detach:
                return _left(run, output, stack, OK)
            outcome = run.follow()
        except EndedFromOutsideError:
            return _stopped(run, output)
        except KeyboardInterrupt:
            if run.name and run.can_be_left and choose() == DETACH:
                return _left(run, output, stack, INTERRUPTED)
            return _stopped(run, output)
        cost = run.cost()
        output.say(f"{run.place}: {outcome.words}; {cost.words}")
        run.settle()
        return Driven(outcome.code, run.name, cost, run.kept_as)


def follow(run: Run, output: Output, stack: str) -> Driven:
    """A run that was started before, perhaps by somebody else. Ctrl-C ends this command and not the run."""
    try:
        outcome = run.follow()
    except KeyboardInterrupt:
        return _left(run, output, stack, INTERRUPTED)
    cost = run.cost()
    output.say(f"{run.place}: {outcome.words}; {cost.words}")
    if outcome.code:
        output.say(f"why: {COMMAND} explain {run.name} --stack {stack}")
    return Driven(outcome.code, run.name, cost)


def _left(run: Run, output: Output, stack: str, code: int) -> Driven:
    output.say(f"it runs on: {run.name}; its log: {COMMAND} logs {run.name} --stack {stack}")
    return Driven(code, run.name)


def _stopped(run: Run, output: Output) -> Driven:
    """Whoever has it stopped is told that it costs nothing any more; where it may, `stop` has said so."""
    if not run.stop():
        return Driven(INTERRUPTED, run.name)
    cost = run.cost()
    output.say(f"{run.place}: stopped by Ctrl-C; {cost.words}")
    return Driven(INTERRUPTED, run.name, cost)
