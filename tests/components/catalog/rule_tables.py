"""Tables of rules: what a function of the catalog finds or gives, as YAML. A table has the functions that it is about:

    - call: azure_gpu.catalog.services.batch.pools.check
      base: {request: {path: pool, size: NC4as_T4_v3}, as_of: 2026-11-20}
      rules:
        a node runs up to four tasks per core:
        - {with: {task_slots: 16}}
        - {with: {task_slots: 17}, finds: [pool.task_slots impossible]}

`with` are fields of the first argument that differ from the base; every other argument has its own name. A row has the problems
that are found, in order (`finds`, nothing where it is left out), or the result (`gives`). A problem is its path and its code, and
`warning` where it is no error; as a map it tells more: `allowed`, `value`, `instead`, and its `message`, `fix` or `source`, as
a whole or as a list of parts. Every error has a source, unless its row has `source: ''`.
"""

import importlib
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import yaml

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.services.vm_images import ImageReference
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Gpu, Size


def wrong_rows(file: Path) -> tuple[int, list[str]]:
    """How many rows a table has, and what is wrong with those of them that don't hold."""
    rows, wrong = 0, list[str]()
    for table in yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader):
        function = found(table["call"])
        for rule, listed in table["rules"].items():
            for row in listed:
                rows += 1
                if difference := _difference(function, table.get("base", {}), row):
                    wrong.append(f"{table['call'].rpartition('.')[2]}: {rule}: {row}: {difference}")
    return rows, wrong


def _difference(function: Callable[..., Any], base: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    result = function(**arguments(function, base, row))
    if "gives" in row:
        given = plain(list(result) if isinstance(result, Iterator) else result)
        return "" if given == row["gives"] else f"it gives {given}"
    problems = list(result)
    expected = row.get("finds", [])
    if len(problems) == len(expected) and all(map(_fits, problems, expected)):
        return ""
    return f"it finds {[_as_told(each, each_expected) for each, each_expected in _pairs(problems, expected)]}"


def _pairs(problems: list[Problem], expected: list[Any]) -> Iterator[tuple[Problem, Any]]:
    for index, problem in enumerate(problems):
        yield problem, expected[index] if index < len(expected) else ""


def _fits(problem: Problem, expected: str | Mapping[str, Any]) -> bool:
    if isinstance(expected, str):
        return summary(problem) == expected and bool(problem.source or problem.severity is not Severity.ERROR)
    parts = {key: expected[key] for key in ("message", "fix", "source") if isinstance(expected.get(key), list)}
    exact = {key: plain(getattr(problem, key)) for key in expected if key not in parts and key != "problem"}
    return (
        summary(problem) == expected["problem"]
        and bool(problem.source or "source" in expected or problem.severity is not Severity.ERROR)
        and all(each in getattr(problem, key) for key, listed in parts.items() for each in listed)
        and all(value == expected[key] for key, value in exact.items())
    )


def _as_told(problem: Problem, expected: Any) -> Any:
    if isinstance(expected, str):
        return {"problem": summary(problem), "source": problem.source}
    return {"problem": summary(problem), **{key: plain(getattr(problem, key)) for key in expected if key != "problem"}}


def summary(problem: Problem) -> str:
    """Path and code, and whether it is a warning only."""
    return f"{problem.path} {problem.code.value.lower()}{'' if problem.severity is Severity.ERROR else ' warning'}".strip()


def found(name: str) -> Callable[..., Any]:
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(module), function)


def arguments(function: Callable[..., Any], base: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(function)
    names = list(inspect.signature(function).parameters)
    assert row.keys() <= {*names, "with", "finds", "gives"}, f"no arguments: {row.keys() - {*names}}"
    given: dict[str, Any] = {**base, **{key: value for key, value in row.items() if key in names}}
    if "with" in row:
        given[names[0]] = {**given.get(names[0], {}), **row["with"]}
    return {name: built(hints.get(name, Any), value) for name, value in given.items()}


def built(hint: Any, value: Any) -> Any:
    """A value of this type, of plain data."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _built_of_any(inner, value)
    if hint is Any or hint is object or origin is Literal or value is None:
        return value
    if origin is tuple and inner[-1] is not Ellipsis:
        return tuple(built(each, one) for each, one in zip(inner, value, strict=True))
    if origin in (Mapping, dict):
        return {built(inner[0], key): built(inner[1], each) for key, each in value.items()}
    if origin in (tuple, frozenset, set):
        return origin(built(inner[0], each) for each in value)
    if origin is not None and isinstance(value, list):
        return [built(inner[0], each) for each in value]
    return _SCALARS[hint](value) if hint in _SCALARS else _built_of_class(hint, value)


def _built_of_any(hints: tuple[Any, ...], value: Any) -> Any:
    if value is None:
        return None
    wrong: Exception | None = None
    for hint in hints:
        if hint is types.NoneType:
            continue
        try:
            return built(hint, value)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            wrong = error
    raise ValueError(value) from wrong


def _built_of_class(hint: Any, value: Any) -> Any:
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    if hasattr(hint, "_fields"):
        hints = get_type_hints(hint)
        return hint(**{key: built(hints[key], each) for key, each in value.items()})
    if hint in (int, str, bool) and not isinstance(value, hint):
        raise TypeError(value)
    return value


def size_of(name: str) -> Size:
    size = SIZES.find(name)
    assert size is not None, name
    return size


def gpu_of(size: str) -> Gpu:
    gpu = size_of(size).gpu
    assert gpu is not None, size
    return gpu


_SCALARS: dict[Any, Callable[[Any], Any]] = {
    date: lambda value: value if isinstance(value, date) else date.fromisoformat(value),
    timedelta: lambda value: timedelta(seconds=value),
    Decimal: Decimal,
    Fraction: Fraction,
    Size: size_of,
    Gpu: gpu_of,
    ImageReference: lambda value: ImageReference(*value.split("/")),
}


def plain(value: Any) -> Any:
    """The value as a table writes it."""
    if isinstance(value, ImageReference):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Problem):
        return summary(value)
    if isinstance(value, Size):
        return value.name
    if isinstance(value, Gpu):
        return next(size.name for size in SIZES if size.gpu == value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return int(value.total_seconds())
    if isinstance(value, (Decimal, Fraction)):
        return str(value)
    if hasattr(value, "_fields"):
        defaults = value._field_defaults
        return {key: plain(each) for key, each in value._asdict().items() if key not in defaults or each != defaults[key]}
    if isinstance(value, Mapping):
        return {plain(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, (frozenset, set)):
        return sorted(plain(each) for each in value)
    return value
