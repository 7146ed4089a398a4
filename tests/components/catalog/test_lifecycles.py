"""What is said of a thing on a given day: before it was seen, while it is sold, when its end is near, after it."""

from datetime import date, timedelta

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.lifecycle import Lifecycle, Status
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.sources import Source, observed, valid_from

SEEN = observed("a page of 2019", 2019, 4, 17)
BEGAN = valid_from("an announcement", 2019, 4, 17)
ANNOUNCED = observed("a notice", 2024, 9, 1)
END = valid_from("a retirement page", 2025, 9, 30)
LATER = valid_from("the same page's exceptions", 2027, 6, 30)
NCV3 = Lifecycle(seen=SEEN, announced=ANNOUNCED, end=END, end_elsewhere={"jioindiawest": LATER})
DAYS = st.dates(min_value=date(2015, 1, 1), max_value=date(2030, 12, 31))


def said(of: Lifecycle, day: date, region: str = "") -> list[Problem]:
    return lifecycle.check(of, "Standard_NC6s_v3", day, path="size", value="nc6s_v3", region=region, fix="choose another")


def test_after_its_last_day_a_thing_is_refused_with_the_date_the_source_and_the_fix() -> None:
    [problem] = said(NCV3, date(2025, 10, 1))
    assert (problem.code, problem.severity) == (Code.RETIRED, Severity.ERROR)
    assert problem.message == "Standard_NC6s_v3 retired on 2025-09-30; checked as of 2025-10-01"
    assert problem.fix == "choose another"
    assert problem.source == "a retirement page (valid from 2025-09-30)"


def test_on_its_last_day_it_can_still_be_had() -> None:
    [problem] = said(NCV3, date(2025, 9, 30))
    assert (problem.code, problem.severity) == (Code.RETIRING, Severity.WARNING)
    assert "0 days from 2025-09-30" in problem.message


@pytest.mark.parametrize(("day", "codes"), [(date(2025, 4, 3), [Code.RETIRING]), (date(2025, 4, 2), [])])
def test_the_warning_begins_180_days_before(day: date, codes: list[Code]) -> None:
    assert [problem.code for problem in said(NCV3, day)] == codes


def test_a_region_with_a_later_last_day_keeps_it() -> None:
    assert [problem.code for problem in said(NCV3, date(2026, 11, 20), "westeurope")] == [Code.RETIRED]
    assert said(NCV3, date(2026, 11, 20), "Jio India West") == []
    [problem] = said(NCV3, date(2027, 7, 1), "jioindiawest")
    assert problem.message == "Standard_NC6s_v3 retired in jioindiawest on 2027-06-30; checked as of 2027-07-01"


def test_before_it_was_first_seen_nothing_is_known_and_that_is_a_warning() -> None:
    [problem] = said(NCV3, date(2019, 4, 16))
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)
    assert "first seen on 2019-04-17" in problem.message


def test_before_the_day_on_which_it_began_it_is_refused() -> None:
    [problem] = said(Lifecycle(seen=BEGAN), date(2019, 4, 16))
    assert (problem.code, problem.severity) == (Code.NOT_OFFERED, Severity.ERROR)
    assert said(Lifecycle(seen=BEGAN), date(2019, 4, 17)) == []


def test_a_doubt_is_a_warning_from_its_day_on() -> None:
    doubtful = Lifecycle(seen=SEEN, doubt=ANNOUNCED)
    assert [problem.code for problem in said(doubtful, date(2024, 9, 1))] == [Code.UNKNOWN]
    assert said(doubtful, date(2024, 8, 31)) == []


@pytest.mark.parametrize(
    ("day", "status"),
    [
        (date(2019, 4, 16), Status.UNKNOWN),
        (date(2019, 4, 17), Status.GENERAL),
        (date(2024, 8, 31), Status.GENERAL),
        (date(2024, 9, 1), Status.RETIRING),
        (date(2025, 9, 30), Status.RETIRING),
        (date(2025, 10, 1), Status.RETIRED),
    ],
)
def test_the_status_follows_the_dates(day: date, status: Status) -> None:
    assert NCV3.status(day) is status


def test_a_preview_ends_on_the_day_of_general_availability() -> None:
    began = Lifecycle(seen=SEEN, preview=True, general=ANNOUNCED)
    assert began.status(date(2024, 8, 31)) is Status.PREVIEW
    assert began.status(date(2024, 9, 1)) is Status.GENERAL
    assert Lifecycle(seen=SEEN, preview=True).status(date(2030, 1, 1)) is Status.PREVIEW


@given(day=DAYS, region=st.sampled_from(["", "westeurope", "jioindiawest", "no region"]))
def test_the_problems_agree_with_the_status(day: date, region: str) -> None:
    problems = said(NCV3, day, region)
    retired = any(problem.code is Code.RETIRED for problem in problems)
    retired |= any(problem.code is Code.NOT_LISTED for problem in problems)  # an end in the future, read long ago
    assert retired == (NCV3.status(day, region) is Status.RETIRED)
    assert all(problem.source for problem in problems)


@given(day=DAYS, end=DAYS)
def test_a_thing_never_comes_back(day: date, end: date) -> None:
    ended = Lifecycle(seen=observed("a page", 2015, 1, 1), end=Source("a notice", "valid from", end))
    if ended.status(day) is Status.RETIRED:
        assert ended.status(day + timedelta(days=1)) is Status.RETIRED
