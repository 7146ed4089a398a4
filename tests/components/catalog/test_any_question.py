"""Whatever a rule of the catalog is asked, it answers with whole problems and raises nothing.

The rules are those of the tables in `rules` that find problems. Arguments are made by their types: texts and numbers that the
tables give to the same key, so that questions get beyond the first check, or any others.
"""

import inspect
import types
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
import yaml
from hypothesis import HealthCheck, given, settings, strategies as st

from azure_gpu.catalog import container_cuda
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.vm_images import IMAGES, ImageReference
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Gpu, Size
from tests.components.catalog.rule_tables import found
from tests.support.examples import examples

TABLES = [
    table
    for path in sorted((Path(__file__).parent / "rules").glob("*.yaml"))
    for table in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
]
WITHOUT_TABLE = (
    container_cuda.check_container,
    vm_images.image_problems,
)


def rules() -> dict[str, Any]:
    """The functions by their names, of those that find problems."""
    of_tables = {table["call"]: found(table["call"]) for table in TABLES}
    beside = {f"{each.__module__}.{each.__name__}": each for each in WITHOUT_TABLE}
    return {
        name: function
        for name, function in (of_tables | beside).items()
        if get_args(get_type_hints(function).get("return")) == (Problem,)
    }


def given_by_tables() -> dict[str, list[Any]]:
    """Texts and numbers by the key that they stand at, of all tables."""
    seen: dict[str, dict[Any, None]] = {}

    def look(value: Any, key: str) -> None:
        if isinstance(value, dict):
            for name, each in value.items():
                look(each, str(name))
        elif isinstance(value, list):
            for each in value:
                look(each, key)
        elif isinstance(value, str | int | float):
            seen.setdefault(key, {})[value] = None

    for table in TABLES:
        look([table.get("base", {}), *table["rules"].values()], "")
    return {key: list(values) for key, values in seen.items()}


SEEN = given_by_tables()


def near(key: str, kind: type | tuple[type, ...], others: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A value that a table has at this key, or another."""
    known = [each for each in SEEN.get(key, ()) if isinstance(each, kind) and not isinstance(each, bool)]
    return st.sampled_from(known) | others if known else others


SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    date: st.dates(date(2010, 1, 1), date(2040, 1, 1)),
    timedelta: st.timedeltas(),
    Fraction: st.fractions(),
    Decimal: st.decimals(allow_nan=False, allow_infinity=False),
    Size: st.sampled_from(list(SIZES)),
    Gpu: st.sampled_from([size.gpu for size in SIZES if size.gpu]),
    ImageReference: st.sampled_from([image.reference for image in IMAGES])
    | st.builds(ImageReference, st.text(max_size=9), st.text(max_size=9), st.text(max_size=9)),
    vm_images.VmImage: st.sampled_from(list(IMAGES)),
}


class Paths(dict[Any, str]):
    """The path of every key."""

    def __missing__(self, key: Any) -> str:
        return str(key)


def of(hint: Any, key: str) -> st.SearchStrategy[Any]:
    """Values of a type at a key. A path is its own name."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is str and (key == "path" or key.endswith("_path")):
        return st.just(key)
    if hint in SCALARS:
        return SCALARS[hint]
    if origin in (Union, types.UnionType):
        return st.one_of([st.none() if each is types.NoneType else of(each, key) for each in inner])
    if origin is Literal:
        return st.sampled_from(inner)
    if hint is str:
        return near(key, str, st.text(max_size=20))
    if hint is int:
        return near(key, int, st.integers())
    if hint is float:
        return near(key, (int, float), st.floats())
    if origin is tuple and inner[-1] is not Ellipsis:
        return st.tuples(*(of(each, key) for each in inner))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if key == "paths" or key.endswith("_paths"):
            return st.just(Paths())
        return st.dictionaries(near(key, str, st.text(max_size=8)), of(inner[1], key), max_size=3)
    if isinstance(origin, type) and issubclass(origin, Iterable):
        several = st.lists(of(inner[0], key), max_size=3)
        return several.map(frozenset) if issubclass(origin, frozenset | set) else several.map(tuple)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    if hasattr(hint, "_fields"):
        hints = get_type_hints(hint)
        return st.builds(hint, **{name: of(hints[name], name) for name in getattr(hint, "_fields", ())})
    return ANYTHING


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@cache
def questions(rule: Any) -> st.SearchStrategy[dict[str, Any]]:
    hints = get_type_hints(rule)
    asked = {name: each for name, each in inspect.signature(rule).parameters.items() if name in hints}
    required = {name: of(hints[name], name) for name, each in asked.items() if each.default is each.empty}
    return st.fixed_dictionaries(required)


RULES = rules()


@pytest.mark.parametrize("name", RULES, ids=[name.removeprefix("azure_gpu.catalog.") for name in RULES])
def test_every_question_is_answered(name: str) -> None:
    rule = RULES[name]

    @settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.nested_given])
    @given(questions(rule))
    def asked(question: dict[str, Any]) -> None:
        for problem in rule(**question):
            assert isinstance(problem, Problem)
            assert problem.path
            assert problem.message
            assert str(problem)

    asked()
