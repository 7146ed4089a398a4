"""Kubernetes versions on AKS. Expectations are literals of Microsoft's table, as read on 2026-08-05 and on 2024-10-30."""

from datetime import date

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.aks import kubernetes_versions
from azure_gpu.catalog.services.aks.kubernetes_versions import check
from azure_gpu.catalog.sources import FACTS_DAY

TODAY = date(2026, 11, 20)


def only(problems: list[Problem]) -> Problem:
    (problem,) = problems
    return problem


@pytest.mark.parametrize(
    ("version", "first", "last", "lts"),
    [
        ("1.33", date(2025, 6, 1), date(2026, 7, 31), date(2027, 7, 31)),
        ("1.34", date(2025, 11, 1), date(2026, 11, 30), date(2027, 11, 30)),
        ("1.35", date(2026, 3, 1), date(2027, 3, 31), date(2028, 3, 31)),
        ("1.36", date(2026, 6, 1), date(2027, 6, 30), date(2028, 6, 30)),
        ("1.27", date(2023, 7, 1), date(2024, 7, 31), date(2025, 7, 31)),
        ("1.30", date(2024, 7, 1), date(2025, 8, 22), date(2026, 7, 31)),
    ],
)
def test_a_version_is_taken_in_its_months_and_no_longer(version: str, first: date, last: date, lts: date) -> None:
    def codes(day: date, plan: bool = False) -> list[Code]:
        return [problem.code for problem in check(version, day, "version", lts=plan)]

    assert codes(first) == []
    assert codes(last) == [Code.RETIRING]
    gone = Code.NOT_LISTED if last > FACTS_DAY else Code.RETIRED
    assert codes(last.replace(year=last.year + 3)) == [gone]  # an end in the future, read long ago, isn't certain
    assert codes(first.replace(year=first.year - 1)) == [Code.NOT_OFFERED]
    assert codes(lts, plan=True) == [Code.RETIRING]
    day_after = date.fromordinal(last.toordinal() + 1)
    assert codes(day_after) == [Code.RETIRED]
    assert Code.RETIRED not in codes(day_after, plan=True)


def test_the_usual_version_is_the_newest_but_one() -> None:
    assert kubernetes_versions.default(TODAY) == "1.35"
    assert kubernetes_versions.default(date(2026, 4, 1)) == "1.34"
    assert kubernetes_versions.default(date(2019, 5, 2)) == ""
    assert kubernetes_versions.default(date(2027, 5, 28)) == "1.36"  # 1.37 was planned


@given(st.dates(date(2026, 8, 1), date(2030, 1, 1)))
def test_on_any_day_the_default_isnt_retired_and_the_one_that_is_shown_is_a_version(day: date) -> None:
    usual = kubernetes_versions.default(day)
    assert not usual or {problem.code for problem in check(usual, day, "version")} <= {Code.RETIRING}
    assert kubernetes_versions.number(kubernetes_versions.default_version(day))


def test_a_table_of_ones_own_can_be_given() -> None:
    versions = tuple(version for version in kubernetes_versions.VERSIONS if version.name == "1.33")
    assert only(check("1.36", TODAY, "version", versions=versions)).code is Code.UNKNOWN
    assert only(check("1.36", TODAY, "version", versions=())).code is Code.UNKNOWN


@given(st.sampled_from([f"1.{minor}" for minor in range(10, 38)]), st.dates(date(2024, 8, 1), date(2035, 1, 1)))
def test_what_is_retired_stays_retired(version: str, as_of: date) -> None:
    if any(problem.code is Code.RETIRED for problem in check(version, as_of, "version")):
        later = as_of.replace(year=as_of.year + 1, day=1)
        assert {problem.code for problem in check(version, later, "version")} <= {Code.RETIRED, Code.NOT_LISTED}
