"""What the tests of any body share: values of JSON, values that a shape allows, and what an answer has to be."""

from collections.abc import Iterable
from typing import Any

import httpx
from hypothesis import HealthCheck, settings, strategies as st

from localazure.shapes.model import ArrayShape, BooleanShape, MapShape, NumberShape, ObjectShape, Shape, StringShape
from tests.support.examples import examples

Values = st.SearchStrategy[Any]
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)  # what JSON has


def json_of(names: Iterable[str], texts: Values | None = None, most_leaves: int = 12) -> Values:
    """Any JSON, its objects with these names."""
    return st.recursive(
        st.none() | st.booleans() | NUMBERS | (st.text(max_size=5) if texts is None else texts),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(names)), inner, max_size=4),
        max_leaves=most_leaves,
    )


def allowed_by(shape: Shape, texts: Values, whole: Values, numbers: Values, others: Values, *, odd: bool = False) -> Values:
    """What the check of shapes lets through, to the rules behind it. `others`: where a shape says nothing.

    `odd`: texts beside those that a shape names too, which leave more to judge for what reads the body."""

    def of(shape: Shape) -> Values:
        match shape:
            case ObjectShape():
                taken = {name: each for name, each in shape.properties.items() if not each.read_only}
                return st.fixed_dictionaries(
                    {each.name: of(each.shape) for each in taken.values() if each.required},
                    optional={each.name: of(each.shape) for each in taken.values() if not each.required},
                )
            case ArrayShape():
                return st.lists(of(shape.items), max_size=2)
            case MapShape():
                return st.dictionaries(texts, of(shape.values), max_size=2)
            case StringShape():
                named = st.sampled_from(shape.allowed) if shape.allowed else texts
                return named | texts if odd else named
            case NumberShape():
                return whole if shape.integer else numbers
            case BooleanShape():
                return st.booleans()
            case _:
                return others

    return of(shape)


def many(number: int, quick: int = 0) -> settings:
    """`quick`: of tests that have many items."""
    slow = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=examples(number, quick), deadline=None, suppress_health_check=slow)


def is_answer(answer: httpx.Response) -> None:
    """A success or a refusal with a code. What isn't implemented is refused by name."""
    assert answer.status_code < 500 or answer.status_code == 501, answer.text
    assert answer.is_success or answer.json()["error"]["code"]
