"""Named autoscale scenarios: every formula is read, and evaluated with sample series."""

from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import errors
from azure_gpu.catalog.services.batch import scale
from azure_gpu.catalog.services.batch.scale import Scenario, ScenarioRequest, formula, most_nodes, scenario_problems
from azure_gpu.formats.autoscale_formula import Evaluation, evaluate, formula_problems, parse
from tests.support.measured import Measured, Series, steady, values

FRIDAY = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
FRIDAY_NIGHT = datetime(2026, 11, 20, 22, 0, tzinfo=UTC)
SUNDAY = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)


def request(scenario: Scenario, **changed: Any) -> ScenarioRequest:
    return ScenarioRequest(**{"scenario": scenario, "path": "pools.train.autoscale", "max_nodes": 10, **changed})


def run(asked: ScenarioRequest, tasks: Series | None, now: datetime = FRIDAY, gone: Series | None = None) -> Evaluation:
    assert scenario_problems(asked) == [] or not errors(scenario_problems(asked))
    read, faults = parse(formula(asked))
    assert read is not None, faults
    series = {"$PendingTasks": tasks, "$PreemptedNodeCount": gone}
    done = evaluate(read, Measured({name: one for name, one in series.items() if one is not None}), now)
    assert done.error is None, done.error
    assert done.targets.deallocation == "taskcompletion"
    return done


def nodes(asked: ScenarioRequest, tasks: Series | None, now: datetime = FRIDAY, gone: Series | None = None) -> tuple[int, int]:
    done = run(asked, tasks, now, gone)
    return done.targets.dedicated, done.targets.spot


FOLLOWING = [one for one in get_args(Scenario) if one != "fixed"]


@pytest.mark.parametrize("scenario", FOLLOWING)
@pytest.mark.parametrize("now", [FRIDAY, FRIDAY_NIGHT, SUNDAY], ids=["friday", "friday night", "sunday"])
def test_an_idle_pool_has_no_nodes(scenario: Scenario, now: datetime) -> None:
    assert nodes(request(scenario), steady(0, now), now) == (0, 0)
    assert nodes(request(scenario), None, now) == (0, 0)  # no samples yet


def test_a_burst_gets_its_nodes_at_once_and_keeps_them_some_minutes() -> None:
    pending = request("pending_tasks")
    assert nodes(pending, values([0] * 30 + [7], FRIDAY)) == (7, 0)
    assert nodes(pending, values([0] * 20 + [7] + [0] * 9, FRIDAY)) == (7, 0)
    assert nodes(pending, values([0] * 20 + [7] + [0] * 10, FRIDAY)) == (0, 0)


def test_the_cap_is_reached_and_not_passed() -> None:
    assert nodes(request("pending_tasks"), steady(400, FRIDAY)) == (10, 0)
    assert nodes(request("pending_tasks", spot=True), steady(400, FRIDAY)) == (0, 10)
    assert nodes(request("spot_fallback"), steady(400, FRIDAY), gone=steady(0, FRIDAY)) == (0, 10)


def test_with_too_few_samples_the_last_one_decides() -> None:
    pending = request("pending_tasks")
    assert nodes(pending, values([9, 3], FRIDAY)) == (3, 0)
    assert nodes(pending, values([9, 3] * 5, FRIDAY)) == (9, 0)
    assert nodes(pending, values([9] * 6 + [3], FRIDAY)) == (9, 0)  # 70 percent of ten


def test_samples_that_come_a_minute_late_are_used() -> None:
    assert nodes(request("pending_tasks"), steady(4, FRIDAY, missing_minutes=1)) == (4, 0)


@pytest.mark.parametrize(("tasks", "expected"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2), (9, 3), (1000, 10)])
def test_several_slots_a_node_are_filled_up(tasks: int, expected: int) -> None:
    assert nodes(request("pending_tasks", task_slots=4), steady(tasks, FRIDAY)) == (expected, 0)


@pytest.mark.parametrize(("tasks", "expected"), [(0, 0), (1, 4), (2, 8), (3, 8), (50, 8)])
def test_a_task_of_several_nodes_counts_as_one_and_gets_them_all(tasks: int, expected: int) -> None:
    assert nodes(request("pending_tasks", nodes_per_task=4), steady(tasks, FRIDAY)) == (expected, 0)


def test_nodes_that_are_to_stay_stay() -> None:
    assert nodes(request("pending_tasks", min_nodes=2), steady(0, FRIDAY)) == (2, 0)
    assert nodes(request("pending_tasks", min_nodes=2), steady(5, FRIDAY)) == (5, 0)
    assert nodes(request("workday", min_nodes=2), steady(0, FRIDAY)) == (2, 0)
    assert nodes(request("workday", min_nodes=2), steady(0, SUNDAY), SUNDAY) == (0, 0)


@pytest.mark.parametrize(
    ("now", "workday"),
    [
        (datetime(2026, 11, 20, 7, 59, tzinfo=UTC), False),
        (datetime(2026, 11, 20, 8, 0, tzinfo=UTC), True),
        (datetime(2026, 11, 20, 17, 59, tzinfo=UTC), True),
        (datetime(2026, 11, 20, 18, 0, tzinfo=UTC), False),
        (datetime(2026, 11, 21, 12, 0, tzinfo=UTC), False),  # Saturday
        (datetime(2026, 11, 22, 12, 0, tzinfo=UTC), False),  # Sunday
        (datetime(2026, 11, 23, 12, 0, tzinfo=UTC), True),  # Monday
    ],
    ids=lambda one: one.strftime("%a %H:%M") if isinstance(one, datetime) else str(one),
)
def test_workdays_and_nights_with_weekends_share_the_week(now: datetime, workday: bool) -> None:
    tasks = steady(3, now)
    assert nodes(request("workday"), tasks, now) == ((3, 0) if workday else (0, 0))
    assert nodes(request("nights_and_weekends"), tasks, now) == ((0, 0) if workday else (3, 0))


def test_a_workday_is_that_of_its_place() -> None:
    in_denver = request("workday", utc_offset_hours=-7, day_begins=9, day_ends=17)
    morning, night = datetime(2026, 11, 20, 16, 30, tzinfo=UTC), datetime(2026, 11, 21, 1, 0, tzinfo=UTC)
    assert nodes(in_denver, steady(3, morning), morning) == (3, 0)
    assert nodes(in_denver, steady(3, night), night) == (0, 0)
    late = datetime(2026, 11, 20, 22, 0, tzinfo=UTC)  # Saturday morning in Sydney
    assert nodes(request("workday", utc_offset_hours=11), steady(3, late), late) == (0, 0)


def test_each_spot_node_that_was_taken_away_is_replaced_by_a_dedicated_one() -> None:
    fallback = request("spot_fallback")
    tasks = steady(6, FRIDAY)
    assert nodes(fallback, tasks) == (0, 6)
    assert nodes(fallback, tasks, gone=steady(2, FRIDAY)) == (2, 6)
    assert nodes(fallback, tasks, gone=steady(9, FRIDAY)) == (6, 6)
    assert nodes(fallback, tasks, gone=values([0] * 20 + [2], FRIDAY)) == (0, 6)  # not for three minutes yet
    assert nodes(fallback, tasks, gone=values([2], FRIDAY)) == (2, 6)  # all that is known
    assert nodes(fallback, steady(0, FRIDAY), gone=steady(2, FRIDAY)) == (0, 0)


def test_a_fixed_number_stays_whatever_happens() -> None:
    assert nodes(request("fixed", max_nodes=3), None) == (3, 0)
    assert nodes(request("fixed", max_nodes=3, spot=True), steady(90, SUNDAY), SUNDAY) == (0, 3)
    assert nodes(request("fixed", max_nodes=0), steady(90, FRIDAY)) == (0, 0)


def test_one_node_at_most_and_none_at_rest_are_the_defaults() -> None:
    plain = ScenarioRequest("pending_tasks", "autoscale")
    assert nodes(plain, steady(9, FRIDAY)) == (1, 0)
    assert nodes(plain, steady(0, FRIDAY)) == (0, 0)


@given(
    st.builds(
        ScenarioRequest,
        scenario=st.sampled_from(list(get_args(Scenario))),
        path=st.just("autoscale"),
        max_nodes=st.integers(-2, 200),
        min_nodes=st.integers(-2, 50),
        spot=st.booleans(),
        task_slots=st.integers(1, 16),
        nodes_per_task=st.integers(0, 20),
        utc_offset_hours=st.integers(-13, 15),
        day_begins=st.integers(-1, 25),
        day_ends=st.integers(-1, 25),
    ),
    st.lists(st.integers(0, 1000), max_size=20),
    st.lists(st.integers(0, 20), max_size=20),
    st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)),
)
def test_whatever_isnt_refused_is_a_sound_formula_within_its_bounds(
    asked: ScenarioRequest, tasks: list[int], gone: list[int], now: datetime
) -> None:
    if errors(scenario_problems(asked)):
        return
    text = formula(asked)
    assert formula_problems(text, "formula") == []
    assert list(scale.formula_problems(text, "formula")) == []
    read, _ = parse(text)
    assert read is not None
    series = {"$PendingTasks": values(tasks, now), "$PreemptedNodeCount": values(gone, now)}
    done = evaluate(read, Measured(series), now)
    assert done.error is None
    assert 0 <= done.targets.dedicated <= asked.max_nodes
    assert 0 <= done.targets.spot <= asked.max_nodes
    dedicated, spot = most_nodes(asked)
    assert done.targets.dedicated <= max(dedicated, asked.min_nodes)
    assert done.targets.spot <= max(dedicated, spot, asked.min_nodes)
    if asked.scenario != "fixed" and asked.min_nodes == 0 and not any(tasks):
        assert (done.targets.dedicated, done.targets.spot) == (0, 0)
