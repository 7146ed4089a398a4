"""Evaluates a formula with samples, at a time, for a pool with its present targets.

The result has the values of all variables, or the error after which the service leaves the pool as it is; `as_text` writes the
values as the service does in a run's results."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, NoReturn, cast

from azure_gpu.formats.autoscale_formula import language, syntax
from azure_gpu.formats.autoscale_formula.checks import Walk
from azure_gpu.formats.autoscale_formula.formula import Formula, FormulaError, placed
from azure_gpu.formats.autoscale_formula.functions import Samples, Series, StopError
from azure_gpu.formats.autoscale_formula.language import DEALLOCATION, DEDICATED, SPOT, Interval, Option, Type, Value, text

_MOST_NODES = 2**31 - 1  # a target is a 32-bit number in the API


class Targets(NamedTuple):
    """What a pool is asked to have: nodes of both kinds, and what becomes of tasks on nodes that go."""

    dedicated: int = 0
    spot: int = 0
    deallocation: str = "requeue"


_NONE = Targets()  # of a pool that is new


class Evaluation(NamedTuple):
    """One run of a formula. With an error the results are the targets of before, and nothing changes."""

    results: Mapping[str, Value]
    error: FormulaError | None
    targets: Targets


def evaluate(formula: Formula, measured: Samples, now: datetime, *, targets: Targets = _NONE) -> Evaluation:
    """Runs the formula once. `now` is aware of its time zone; `targets` are those that the pool has at this moment."""
    run = _Run(measured, now.astimezone(UTC), targets)
    try:
        run.all(formula.statements)
        reached = run.reached(formula.statements)
    except syntax.FaultError as error:
        return Evaluation(results_of(targets), placed(formula.text, error), targets)
    return Evaluation({**results_of(reached), **cast(dict[str, Value], run.own)}, None, reached)


def as_text(results: Mapping[str, Value]) -> str:
    """`$TargetDedicatedNodes=2;$TargetLowPriorityNodes=0;$NodeDeallocationOption=requeue;$tasks=2`, as the service has it."""
    first = [name for name in (DEDICATED, SPOT, DEALLOCATION) if name in results]
    others = sorted(name for name in results if name not in first)
    return ";".join(f"{name}={_shown(name, results[name])}" for name in (*first, *others))


def _shown(name: str, value: Value) -> str:
    """Nodes are counted whole; of other numbers six digits are shown."""
    return str(int(value)) if name in (DEDICATED, SPOT) and isinstance(value, float) else text(value)


def results_of(targets: Targets) -> dict[str, Value]:
    """The service's variables: all that the results of a formula hold that can't be read or evaluated."""
    return {DEDICATED: float(targets.dedicated), SPOT: float(targets.spot), DEALLOCATION: Option(targets.deallocation)}


class _Run(Walk):
    """One run, with values in place of their types."""

    def __init__(self, measured: Samples, now: datetime, targets: Targets) -> None:
        super().__init__()
        self.now = now
        self._measured = measured
        self._before = targets

    def fault(self, message: str, at: int) -> NoReturn:
        raise syntax.FaultError(message, at)

    def result(self, _: Type, function: Callable[..., Value], /, *given: Any) -> Value:
        return function(*given)

    def known(self, node: syntax.Name) -> Value:
        name = node.name
        if name in language.TARGETS:
            return self._target(language.ALIASES.get(name, name))
        if name == DEALLOCATION:
            return self._deallocation()
        if name in language.OPTIONS:
            return Option(name)
        if name in language.INTERVALS:
            return Interval(language.INTERVALS[name])
        series = self.samples(node)
        return float(series[-1][1]) if series else self.fault(f"{name} has no samples yet", node.at)

    def samples(self, node: syntax.Name, /) -> Series:
        return self._measured.series(language.OLD_NAMES.get(node.name, node.name))

    def all(self, statements: Iterable[syntax.Statement]) -> None:
        try:
            for statement in statements:
                self.statement(statement)
        except StopError:
            return

    def reached(self, statements: Sequence[syntax.Statement]) -> Targets:
        """The targets after the last statement. FaultError if one isn't a number of nodes."""
        return Targets(self._nodes(DEDICATED, statements), self._nodes(SPOT, statements), self._deallocation().name)

    def _deallocation(self) -> Option:
        return cast(Option, self.targets.get(DEALLOCATION, Option(self._before.deallocation)))

    def _nodes(self, name: str, statements: Sequence[syntax.Statement]) -> int:
        value = self._target(name)
        names = [one.target for one in statements if one.target]
        last = next((one.at for one in reversed(names) if language.ALIASES.get(one.name, one.name) == name), 0)
        if not math.isfinite(value) or not 0 <= value <= _MOST_NODES:
            self.fault(f"{name} is {value:g}, which isn't a number of nodes", last)
        return int(value)  # the service cuts off what stands behind the point

    def _target(self, name: str) -> float:
        """The value of a target: under its full name, else under its short one, else that of before."""
        short = next(alias for alias, full in language.ALIASES.items() if full == name)
        value = self.targets.get(name, self.targets.get(short))
        if isinstance(value, float):
            return value
        return float(self._before.dedicated if name == DEDICATED else self._before.spot)
