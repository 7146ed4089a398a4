"""The commands of a task of Shipyard: one, or as many as its `task_factory` makes.

Random numbers are drawn here, once. Source: Azure/batch-shipyard, docs/35 (task factory and merge task), 2023-03."""

import itertools
import random
from collections.abc import Iterator, Sequence
from string import Formatter
from typing import Any, cast

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.left import Left
from azure_gpu.formats.shipyard.part import Part

MOST = 20_000  # tasks of one factory
_DISTRIBUTIONS = {
    "uniform": ("a", "b"),
    "triangular": ("low", "high", "mode"),
    "beta": ("alpha", "beta"),
    "exponential": ("lambda",),
    "gamma": ("alpha", "beta"),
    "gauss": ("mu", "sigma"),
    "lognormal": ("mu", "sigma"),
    "pareto": ("alpha",),
    "weibull": ("alpha", "beta"),
}
_METHODS = {
    **{name: name for name in ("uniform", "triangular", "gauss")},
    **{"beta": "betavariate", "exponential": "expovariate", "gamma": "gammavariate", "lognormal": "lognormvariate"},
    **{"pareto": "paretovariate", "weibull": "weibullvariate"},
}
_KEY = "task_factory"


class FactoryError(Exception):
    """The factory is invalid. The message tells why, in words for a problem."""


def commands_of(task: Part) -> tuple[list[str], list[Left], list[Problem]]:
    """At least one command, unless the factory can't be followed: then it is left out, or a problem."""
    command = str(task.get("command") or "")
    factory = task.things(_KEY)
    if not factory:
        return [command], [], []
    for key, message, fix in (
        ("file", "a task for each file of a container: the files aren't listed here", "a line for each file in the tasks' file"),
        ("custom", "a module of Python made the tasks, and isn't run here", "let it print the commands, a JSON text a line"),
    ):
        if factory.get(key):
            return [], [task.leave(f"{_KEY}.{key}", message, fix)], []
    try:
        rows = list(itertools.islice(_rows(factory), MOST + 1))
    except FactoryError as error:
        return [], [], [_senseless(task, str(error))]
    except (TypeError, ValueError, OverflowError, AttributeError):
        return [], [], [_senseless(task, "a value in it is of the wrong kind")]
    if len(rows) > MOST:
        return [], [], [_senseless(task, f"it makes more than {MOST} tasks")]
    try:
        return [_Strict().vformat(command, row, {}) if row else command for row in rows], [], []
    except (IndexError, KeyError):
        reason = "a brace that stands for none of the factory's values"
    except (ValueError, TypeError, OverflowError) as error:
        reason = str(error)
    fix = "write {0} and {1}, or {} for each"
    return [], [], [Problem(task.at("command"), f"the command can't be filled in: {reason}", fix=fix)]


def _senseless(task: Part, why: str) -> Problem:
    return Problem(task.at(_KEY), f"the tasks can't be made: {why}", fix="correct the factory")


class _Strict(Formatter):
    """`{}`, `{0}` and their formats, without access to attributes or items of the values."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Any) -> Any:
        if "." in field_name or "[" in field_name:
            raise KeyError(field_name)
        return super().get_field(field_name, args, kwargs)


def _rows(factory: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    """The values of each command."""
    if factory.get("repeat") is not None:
        return itertools.repeat((), int(factory["repeat"]))
    if factory.get("random"):
        return _drawn(_mapping(factory["random"]))
    sweep = _mapping(factory.get("parametric_sweep"))
    if sweep.get("product"):
        return itertools.product(*(_range(one) for one in sweep["product"]))
    if sweep.get("product_iterables"):
        return itertools.product(*map(_iterable, _list(sweep["product_iterables"])))
    if sweep.get("zip"):
        return zip(*map(_iterable, _list(sweep["zip"])), strict=False)
    for name in ("combinations", "permutations"):
        if sweep.get(name):
            wanted = sweep[name]
            values = _iterable(wanted.get("iterable"))
            length = int(wanted.get("length") or 0)
            if length < 1:
                raise FactoryError(f"{name} needs a length of 1 or more")
            if name == "permutations":
                return itertools.permutations(values, length)
            with_replacement = itertools.combinations_with_replacement
            return (with_replacement if wanted.get("replacement") else itertools.combinations)(values, length)
    raise FactoryError("it is none of repeat, random, and a parametric_sweep with product, zip, combinations or permutations")


def _range(one: dict[str, Any]) -> range:
    try:
        return range(int(one["start"]), int(one["stop"]), int(one["step"]))
    except (KeyError, ValueError):
        raise FactoryError("a range needs start, stop and a step that isn't 0") from None


def _iterable(value: object) -> list[object]:
    """Text is a list of its letters, as Python has it."""
    if isinstance(value, str | list) and value:
        return list(cast(Sequence[object], value))
    raise FactoryError("what it goes over is empty, or no list")


def _drawn(wanted: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    generator = random.Random(wanted.get("seed") or 0)  # noqa: S311 - parameters of tasks, not secrets
    count = int(wanted.get("generate") or 0)
    if not 1 <= count <= MOST:
        raise FactoryError(f"generate is a number from 1 to {MOST}")
    if wanted.get("integer"):
        values = _range(_mapping(wanted["integer"]))
        if not values:
            raise FactoryError("its range of numbers is empty")
        return iter([(generator.choice(values),) for _ in range(count)])
    distributions = _mapping(wanted.get("distribution"))
    for name, parameters in _DISTRIBUTIONS.items():
        settings = _mapping(distributions.get(name))
        if settings:
            arguments = [float(settings[key]) for key in parameters if settings.get(key) is not None]
            draw = getattr(generator, _METHODS[name])
            try:
                return iter([(draw(*arguments),) for _ in range(count)])
            except (TypeError, ValueError, ZeroDivisionError):
                raise FactoryError(f"{name} takes {', '.join(parameters)}") from None
    raise FactoryError("random is integer: or distribution:")


def _mapping(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return cast(list[Any], value)
    raise FactoryError("expected a list")
