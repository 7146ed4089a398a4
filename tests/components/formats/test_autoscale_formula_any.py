"""Autoscale formulas, any of them: what is read never raises, what is evaluated is what Python computes."""

import math
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings, strategies as st

from azure_gpu.formats.autoscale_formula import Targets, as_text, evaluate, formula_problems, functions, language, parse
from azure_gpu.formats.autoscale_formula.language import Interval, text
from tests.support.examples import examples
from tests.support.measured import Measured, values

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
NUMBERS = st.integers(0, 50)
WORDS = st.sampled_from(
    [
        *(
            *language.READ_ONLY,
            *language.WRITABLE,
            *functions.FUNCTIONS,
            *functions.METHODS,
            *language.INTERVALS,
            *language.OPTIONS,
        ),
        *("+-*/<>!?:=(),;. \n", "==", "&&", "||", "x", "1", "2.5", '"a"', "//", "vec(1, 2)", "time()", ".hour"),
        *"+-*/<>!?:=(),;. \n",
    ]
)


@st.composite
def sums(draw: st.DrawFn, depth: int = 3) -> str:
    """A sum over numbers, as both a formula and Python read it."""
    if depth == 0 or draw(st.booleans()):
        return str(draw(NUMBERS))
    left, right = draw(sums(depth=depth - 1)), draw(sums(depth=depth - 1))
    sign = draw(st.sampled_from(["+", "-", "*"]))
    return draw(st.sampled_from([f"{left} {sign} {right}", f"({left} {sign} {right})", f"max({left}, {right})", f"-({left})"]))


LEAVES = st.sampled_from(
    [
        *("1", "0", "2.5", "1e308", "x", "$PendingTasks", "$ActiveTasks", "$TargetDedicatedNodes", "requeue", '"2016-10-13"'),
        *("time()", "TimeInterval_Hour", "TimeInterval_Year", "vec(1, 2)", "vec()", "$PendingTasks.GetSample(2)"),
    ]
)


def _wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions of one more level, of any types."""
    names = st.sampled_from(["avg", "len", "max", "std", "norm", "lg", "ceil", "round", "vec", "sum", "time"])
    signs = st.sampled_from(["+", "-", "*", "/", "<", "==", "&&", "||"])
    return st.one_of(
        st.builds(lambda one, sign, other: f"({one} {sign} {other})", inner, signs, inner),
        st.builds(lambda name, one, other: f"{name}({one}, {other})", names, inner, inner),
        st.builds(lambda name, one: f"{name}({one})", names, inner),
        st.builds(lambda name, one, other: f"{name}({one}, {other})", st.sampled_from(["percentile", "val"]), inner, inner),
        st.builds(lambda one, yes, no: f"({one} ? {yes} : {no})", inner, inner, inner),
        st.builds(lambda sign, one: f"{sign}{one}", st.sampled_from(["-", "!"]), inner),
        st.builds(lambda one, name: f"({one}).{name}", inner, st.sampled_from(language.TIMESTAMP_MEMBERS)),
        st.builds(lambda one, other: f"$PendingTasks.GetSample({one}, {other})", inner, inner),
        st.builds(lambda one: f"$PendingTasks.GetSamplePercent({one})", inner),
    )


@settings(max_examples=examples(400))
@given(st.lists(st.recursive(LEAVES, _wider, max_leaves=8), min_size=1, max_size=4))
def test_what_passes_the_checks_is_evaluated_or_ends_with_its_place(expressions: list[str]) -> None:
    written = "x = 1;\n" + "".join(f"x = {one};\n$TargetDedicatedNodes = len({one});\n" for one in expressions)
    formula, errors = parse(written)
    if formula is None:
        assert errors
        return
    done = evaluate(formula, Measured({"$PendingTasks": values([3, 1, 2], NOW)}), NOW)
    assert as_text(done.results)
    assert done.error is None or 1 <= done.error.line <= written.count("\n")


@given(sums())
def test_a_sum_is_what_python_says(expression: str) -> None:
    formula, errors = parse(f"x = {expression};")
    assert formula is not None, errors
    done = evaluate(formula, Measured(), NOW)
    assert done.results["x"] == float(eval(expression))  # made here, of digits and signs


@given(st.lists(WORDS, max_size=30).map(" ".join) | st.text(max_size=60))
def test_nothing_that_is_written_raises(written: str) -> None:
    formula, errors = parse(written)
    assert (formula is None) == bool(errors)
    lines = written.split("\n")
    for error in errors:
        assert 1 <= error.line <= len(lines)
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1
        assert error.message
    assert all(problem.path == "formula" and problem.message for problem in formula_problems(written, "formula"))
    if formula is not None:
        before = Targets(dedicated=2, spot=1)
        done = evaluate(formula, Measured({"$PendingTasks": values([1, 2, 3], NOW)}), NOW, targets=before)
        assert done.error is None or done.targets == before
        assert as_text(done.results).startswith(
            f"$TargetDedicatedNodes={done.targets.dedicated};$TargetLowPriorityNodes={done.targets.spot};"
        )


@given(
    st.lists(st.integers(0, 100), min_size=1, max_size=80),
    st.integers(0, 3600),
    st.integers(0, 3600),
)
def test_a_span_of_samples_is_part_of_them_and_its_share_fits(numbers: list[int], first: int, last: int) -> None:
    formula, _ = parse(
        f"x = $PendingTasks.GetSample({first} * TimeInterval_Second, {last} * TimeInterval_Second);"
        f"p = $PendingTasks.GetSamplePercent({last} * TimeInterval_Second, {first} * TimeInterval_Second);"
    )
    assert formula is not None
    done = evaluate(formula, Measured({"$PendingTasks": values(numbers, NOW)}), NOW)
    found, percent = done.results["x"], done.results["p"]
    assert isinstance(found, tuple)
    assert isinstance(percent, float)
    lower, upper = sorted((NOW - timedelta(seconds=first), NOW - timedelta(seconds=last)))
    expected = tuple(number for at, number in values(numbers, NOW) if lower < at <= upper)
    assert found == expected
    assert 0 <= percent <= 100
    assert (percent > 0) == bool(found)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20), st.integers(0, 100))
def test_functions_over_lists_keep_their_bounds(numbers: list[float], percent: int) -> None:
    listed = ", ".join(f"{'0 - ' if number < 0 else ''}{abs(number)!r}" for number in numbers)
    formula, errors = parse(
        f"v = vec({listed}); low = min(v); high = max(v); mean = avg(v);"
        f"some = percentile(v, {percent}); spread = std(v); n = norm(v);"
    )
    assert formula is not None, errors
    done = evaluate(formula, Measured(), NOW)
    assert done.error is None
    low, high, mean, some, spread, norm = (
        float(str(done.results[name])) for name in ("low", "high", "mean", "some", "spread", "n")
    )
    assert low == min(numbers)
    assert high == max(numbers)
    assert low - 1e-6 <= mean <= high + 1e-6
    assert some in numbers
    assert spread >= 0
    assert math.isclose(norm, math.sqrt(math.fsum(number * number for number in numbers)), rel_tol=1e-9, abs_tol=1e-9)


@given(st.integers(-(10**18), 10**18))
def test_an_interval_has_a_text_without_losing_a_tick(ticks: int) -> None:
    shown = text(Interval(ticks))
    sign, rest = (-1, shown[1:]) if shown.startswith("-") else (1, shown)
    days, _, clock = rest.rpartition(".") if rest.count(".") == 1 and ":" not in rest.split(".")[0] else ("", "", rest)
    if not days and rest.count(".") == 2:
        days, clock = rest.split(".", 1)
    whole, _, part = clock.partition(".")
    hours, minutes, seconds = (int(one) for one in whole.split(":"))
    total = ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    assert sign * (total * 10_000_000 + int(part or 0)) == ticks
