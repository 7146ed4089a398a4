"""Evaluates a formula with samples, at a time, for a pool with its present targets.

The result has the values of all variables, or the error after which the service leaves the pool as it is; `as_text` writes the
values as the service does in a run's results."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from azure_gpu.formats.autoscale_formula import functions, language, syntax
from azure_gpu.formats.autoscale_formula.formula import Formula, FormulaError, placed
from azure_gpu.formats.autoscale_formula.functions import FunctionError, Samples, Series, StopError
from azure_gpu.formats.autoscale_formula.language import DEALLOCATION, DEDICATED, SPOT, Interval, Option, Value, text, type_of

_MOST_NODES = 2**31 - 1  # a target is a 32-bit number in the API
_MOST_NUMBERS = 2_000_000  # in all lists that one run makes: a week of samples, which are 20,160, a hundred times


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

    @property
    def dedicated(self) -> int:
        return self.targets.dedicated

    @property
    def spot(self) -> int:
        return self.targets.spot

    @property
    def deallocation(self) -> str:
        return self.targets.deallocation


def evaluate(formula: Formula, measured: Samples, now: datetime, *, targets: Targets = _NONE) -> Evaluation:
    """Runs the formula once. `now` is aware of its time zone; `targets` are those that the pool has at this moment."""
    run = _Run(measured, now.astimezone(UTC), targets)
    try:
        run.all(formula.statements)
        reached = run.reached(formula.statements)
    except syntax.FaultError as error:
        return Evaluation(results_of(targets), placed(formula.text, error.fault), targets)
    return Evaluation({**results_of(reached), **run.own}, None, reached)


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


class _Run:
    """One run: the variables set so far."""

    def __init__(self, measured: Samples, now: datetime, targets: Targets) -> None:
        self.own: dict[str, Value] = {}  # the formula's own variables
        self._measured = measured
        self._now = now
        self._before = targets
        self._set: dict[str, Value] = {}  # the service's variables
        self._numbers_made = 0

    def all(self, statements: tuple[syntax.Statement, ...]) -> None:
        try:
            for statement in statements:
                self._statement(statement)
        except StopError:
            return

    def reached(self, statements: tuple[syntax.Statement, ...]) -> Targets:
        """The targets after the last statement. FaultError if one isn't a number of nodes."""
        option = self._set.get(DEALLOCATION)
        return Targets(
            dedicated=self._nodes(DEDICATED, statements),
            spot=self._nodes(SPOT, statements),
            deallocation=option.name if isinstance(option, Option) else self._before.deallocation,
        )

    def _nodes(self, name: str, statements: tuple[syntax.Statement, ...]) -> int:
        value = self._target(name)
        last = next((one.target.at for one in reversed(statements) if one.target and _full(one.target.name) == name), 0)
        if not math.isfinite(value) or not 0 <= value <= _MOST_NODES:
            raise syntax.FaultError(f"{name} is {value:g}, which isn't a number of nodes", last)
        return int(value)  # the service cuts off what stands behind the point

    def _target(self, name: str) -> float:
        """The value of a target: under its full name, else under its short one, else that of before."""
        short = next(alias for alias, full in language.ALIASES.items() if full == name)
        value = self._set.get(name, self._set.get(short))
        if isinstance(value, float):
            return value
        return float(self._before.dedicated if name == DEDICATED else self._before.spot)

    def _statement(self, statement: syntax.Statement) -> None:
        value = self._value(statement.value)
        target = statement.target
        if target is None:
            return
        if target.name not in language.WRITABLE:
            self.own[target.name] = value
            return
        wanted = Option if target.name == DEALLOCATION else float
        if not isinstance(value, wanted):
            raise syntax.FaultError(f"{target.name} can't be a {type_of(value)}", target.at)
        self._set[target.name] = value

    def _value(self, node: syntax.Node) -> Value:
        try:
            value = self._of(node)
            if isinstance(value, tuple):
                self._made(len(value))
            return value
        except FunctionError as error:
            raise syntax.FaultError(str(error), node.at) from None
        except OverflowError:
            raise syntax.FaultError("a number is too large", node.at) from None

    def _made(self, count: int) -> None:
        """Called before or after a list is made, so that a formula of a few lines takes neither all memory nor all day."""
        self._numbers_made += count
        if self._numbers_made > _MOST_NUMBERS:
            raise FunctionError(f"the formula makes lists of more than {_MOST_NUMBERS} numbers in all")

    def _of(self, node: syntax.Node) -> Value:
        match node:
            case syntax.Number() | syntax.Text():
                return node.value
            case syntax.Name():
                return self._name(node)
            case syntax.Sign():
                return functions.negative(node.sign, self._value(node.operand))
            case syntax.Chain():
                return self._chain(node)
            case syntax.Choice():
                return self._value(node.yes if functions.true(self._value(node.condition)) else node.no)
            case syntax.Call():
                return self._call(node)
            case syntax.Method():
                return self._method(node)
            case syntax.Member():
                return self._member(node)

    def _name(self, node: syntax.Name) -> Value:
        name = node.name
        if name in self.own:
            return self.own[name]
        if name in language.TARGETS:
            return self._target(_full(name))
        if name == DEALLOCATION:
            return self._set.get(name, Option(self._before.deallocation))
        if name in language.OPTIONS:
            return Option(name)
        if name in language.INTERVALS:
            return Interval(language.INTERVALS[name])
        series = self._series(node)
        if not series:
            raise syntax.FaultError(f"{name} has no samples yet", node.at)
        return float(series[-1][1])

    def _series(self, node: syntax.Name) -> Series:
        return self._measured.series(language.OLD_NAMES.get(node.name, node.name))

    def _chain(self, node: syntax.Chain) -> Value:
        left = self._value(node.first)
        for link in node.links:
            if link.sign in language.LOGICAL:
                decided = functions.true(left) is (link.sign == "||")  # then what follows isn't looked at
                left = float(functions.true(left) if decided else functions.true(self._value(link.operand)))
            else:
                right = self._value(link.operand)
                self._made(len(left) if isinstance(left, tuple) else 0)
                try:
                    left = functions.apply(left, link.sign, right)
                except FunctionError as error:
                    raise syntax.FaultError(str(error), link.at) from None
        return left

    def _call(self, node: syntax.Call) -> Value:
        values = [self._value(argument) for argument in node.arguments]
        if node.name in functions.OF_LISTS:
            return functions.of_list(node.name, self._numbers(node.name, values))
        if node.name == language.VECTOR_OF:
            return self._numbers(node.name, values)
        if node.name in functions.COMPONENT_WISE:
            numbers = tuple(functions.component_wise(node.name, one) for one in self._numbers(node.name, values))
            return numbers[0] if len(values) == 1 and isinstance(values[0], float) else numbers
        function, types = functions.FIXED[node.name], [type_of(value) for value in values]
        if tuple(types) != function.parameters[: max(len(types), function.needed)]:
            raise FunctionError(f"{node.name}(…) can't take {', '.join(types)}")
        return function.call(self._now, *values)

    def _numbers(self, name: str, values: list[Value]) -> tuple[float, ...]:
        for value in values:
            if not isinstance(value, float | tuple):
                raise FunctionError(f"{name}(…) can't take a {type_of(value)}")
        self._made(sum(len(value) if isinstance(value, tuple) else 1 for value in values))
        return functions.flat(values)

    def _method(self, node: syntax.Method) -> Value:
        if not isinstance(node.of, syntax.Name) or node.of.name not in language.READ_ONLY:
            raise syntax.FaultError(f"only variables that the service measures have {node.name}(…)", node.at)
        series = self._series(node.of)
        arguments = [self._value(argument) for argument in node.arguments]
        method, types = functions.METHODS[node.name], [type_of(value) for value in arguments]
        if not any(functions.match(types, one) for one in method.takes):
            raise syntax.FaultError(f"{node.name} can't take {', '.join(types) or 'nothing'}", node.at)
        return method.call(series, self._now, *arguments)

    def _member(self, node: syntax.Member) -> Value:
        value = self._value(node.of)
        if not isinstance(value, datetime):
            raise syntax.FaultError(f"only a timestamp has {node.name}, and this is a {type_of(value)}", node.at)
        return functions.member(node.name, value)


def _full(name: str) -> str:
    return language.ALIASES.get(name, name)
