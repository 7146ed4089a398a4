"""Tests a service by runs: the vector addition, then a short training on handwritten digits; the report in each output is read.

The runs are made from command lines of `run`, so that `prove` tests exactly what `run` does. If a run is rejected or fails, the
row says why, with the output of `explain`. Errors of Azure's clients become a row too, so that one service doesn't affect others.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu_operations.exit_codes import INTERRUPTED
from azure_gpu_operations.prove.proof import ABOUT, WITHOUT_GPU, Proof, Report, Service, failure, joined, report_of, without_gpu
from azure_gpu_operations.run import options as run_options
from azure_gpu_operations.run.driving import Driven, drive
from azure_gpu_operations.run.preparing import prepare
from azure_gpu_operations.run.protocol import Output, Plan, Run, Say, WrongRunError
from azure_gpu_operations.run.target import TargetOptions, resolve
from azure_gpu_operations.stack_view import StackView

TIMEOUT_MINUTES = 20  # of one run: allocating a node takes up to ten
ADDITION = ("vector_add",)
# Short, but long enough to recognise digits: 200 steps of 100 images.
TRAINING = ("mnist", "--steps", "200", "--min-accuracy", "0.9")
REQUIRE_GPU = "--require-gpu"  # option of both workloads


class Step(NamedTuple):
    """One run. `plan` None: `problems` has the reasons."""

    words: tuple[str, ...]
    plan: Plan | None
    problems: tuple[Problem, ...]


def steps(view: StackView, service: Service, place: str, folder: Path | None, *, require_gpu: bool) -> Iterator[Step]:
    """The runs of a service, in order. `folder`: of the stack's file, if not the project's."""
    for target, *arguments in (ADDITION, TRAINING):
        more = [*arguments, REQUIRE_GPU] if require_gpu else arguments
        words = (target, "--on", service.value, ABOUT[service].option, place, "--stack", view.name)
        yield _step(words, tuple(more), view, folder)


def _step(words: tuple[str, ...], after: tuple[str, ...], view: StackView, folder: Path | None) -> Step:
    options = run_options.parsed([*words, "--timeout", str(TIMEOUT_MINUTES)], after)
    options.config_folder = folder
    target, problems = resolve(TargetOptions(target=options.target, timeout_minutes=options.timeout), {})
    plan, more = prepare(options, target, view)
    problems = [*problems, *more]
    shown = (*words, "--", *after) if after else words
    return Step(shown, None if errors(problems) else plan, tuple(problems))


LAST_LINES = 5  # of the output of a failed run

Explain = Callable[[str], list[str]]
Watched = Callable[[Run], AbstractContextManager[None]]


class RejectedError(Exception):
    """The part rejected the run before its start; another part of the service may accept it."""

    def __init__(self, proof: Proof) -> None:
        super().__init__("; ".join(proof.why))
        self.proof = proof


class RecordedOutput:
    """The output of one run, and the time of its first line."""

    def __init__(self, say: Say, clock: Callable[[], float]) -> None:
        self.lines: list[str] = []
        self.messages: list[str] = []
        self._say, self._clock = say, clock
        self._began = clock()
        self.first_line_seconds: float | None = None

    @property
    def output(self) -> Output:
        return Output(self._line, self._line, self._message)

    def _line(self, line: str) -> None:
        if self.first_line_seconds is None:
            self.first_line_seconds = self._clock() - self._began
        self.lines.append(line)

    def _message(self, line: str) -> None:
        self.messages.append(line)
        self._say(line)


def prove(
    service: Service,
    place: str,
    steps: Iterable[Step],
    stack: str,
    say: Say,
    explain: Explain,
    *,
    watched: Watched,
    expected: tuple[type[Exception], ...],
    clock: Callable[[], float] = time.monotonic,
) -> Proof:
    """RejectedError if the first run is rejected. `watched` wraps each run, so that it can be stopped from outside; `expected`:
    the errors that become a row."""
    reports: list[Report] = []
    first: float | None = None
    costs: list[Decimal | None] = []
    for step in steps:
        if step.plan is None:
            raise RejectedError(failure(service, place, *map(str, step.problems)))
        plan = _with(step.plan, watched)
        kept = RecordedOutput(say, clock)
        try:
            driven = drive(plan, kept.output, stack)
            if driven.code == 0 and not kept.lines:
                # A pool may give a node back as soon as its task has ended, before its output was read.
                say(f"{step.words[0]} succeeded, and its output is gone with its node; running it again")
                costs.append(driven.cost.usd if driven.cost else None)
                kept = RecordedOutput(say, clock)
                driven = drive(plan, kept.output, stack)
        except WrongRunError as error:
            raise RejectedError(failure(service, place, *map(str, error.problems))) from error
        except expected as error:
            why = (f"{step.words[0]}: {error}", *explain(place))
            return joined(service, place, reports, first_line_seconds=first, why=why)._replace(passed=False)
        costs.append(driven.cost.usd if driven.cost else None)
        first = first if first is not None else kept.first_line_seconds
        found = report_of(kept.lines)
        if found is None and driven.code == WITHOUT_GPU and REQUIRE_GPU in step.words:
            found = without_gpu(step.words[0])
        why = _why(step, driven, found, kept, explain, place)
        if found is not None:
            reports.append(found)
        if why:
            more = {"first_line_seconds": first, "usd": _sum(costs), "why": why}
            return joined(service, place, reports, **more)._replace(passed=False)
    return joined(service, place, reports, first_line_seconds=first, usd=_sum(costs))


def _with(plan: Plan, watched: Watched) -> Plan:
    """The plan with its run wrapped by `watched`."""

    @contextmanager
    def entered(output: Output) -> Iterator[Run]:
        with plan(output) as run, watched(run):
            yield run

    return entered


def _why(step: Step, driven: Driven, found: Report | None, kept: RecordedOutput, explain: Explain, place: str) -> tuple[str, ...]:
    """Why a run failed; empty if it passed."""
    if driven.code == 0 and found is not None and found.passed:
        return ()
    what = step.words[0]
    if driven.code == INTERRUPTED:
        return (f"{what}: stopped",)
    if driven.code == 0:
        return (f"{what}: it ended with exit code 0, but its last line isn't a report", *kept.lines[-LAST_LINES:])
    details = (found.problems if found is not None else ()) or tuple((kept.messages + kept.lines)[-LAST_LINES:])
    return (f"{what}: exit code {driven.code}", *details, *(explain(driven.name or place)))


def _sum(costs: Iterable[Decimal | None]) -> Decimal | None:
    known = list(costs)
    found = [each for each in known if each is not None]
    return sum(found, Decimal(0)) if found and len(found) == len(known) else None
