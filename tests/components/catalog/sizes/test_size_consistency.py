"""The rows fit together: no row contradicts another, every successor exists, and every retired size leads to one that is sold."""

from datetime import date, timedelta

from hypothesis import given, strategies as st

from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.sizes import SIZES, size_tables
from azure_gpu.catalog.sizes.model import Series, Size, same_family
from tests.support.rows import each_row
from tests.support.tables import of_table

TODAY = date(2026, 11, 20)
SERIES = {size.series.name: size.series for size in SIZES}

each_size = each_row("size", list(SIZES), ids=lambda size: size.name)
each_series = each_row("series", list(SERIES.values()), ids=lambda series: series.name)


def test_every_row_of_the_table_is_a_size_of_its_own() -> None:
    assert tuple(SIZES) == size_tables.packaged().sizes


def test_every_series_has_a_size_and_none_has_the_name_of_one() -> None:
    assert list(SERIES.values()) == list(size_tables.packaged().series.values())
    assert len({id(size.series) for size in SIZES}) == len(SERIES)
    assert not {name.lower() for name in SERIES} & {size.name.lower() for size in SIZES}


@each_series
def test_a_series_has_sources_and_the_driver_of_its_gpu(series: Series) -> None:
    assert series.sources
    assert bool(series.drivers) == (series.gpu is not None)
    if series.gpu is not None and series.gpu.mig:
        assert series.gpu.mig_source is not None


def test_gpu_memory_is_that_of_the_whole_gpus_together() -> None:
    for size in SIZES:
        if size.gpu is not None and size.gpu_count is not None and size.gpu_memory_gib is not None:
            assert size.gpu_memory_gib == size.gpu.memory_gib * size.gpu_count, size.name


def test_only_these_sizes_have_a_gpu_but_no_known_gpu_memory() -> None:
    assert {size.name for size in SIZES if size.gpu is not None and size.gpu_memory_gib is None} == {
        *("Standard_NC8ads_A10_v4", "Standard_NC16ads_A10_v4", "Standard_NC32ads_A10_v4"),
        "Standard_NV24r",
        *("Standard_NV12hs_v3", "Standard_NV24ms_v3", "Standard_NV32ms_v3"),
        *("Standard_NV4ahs_v4", "Standard_NV8ahs_v4", "Standard_NV16ahs_v4", "Standard_NV32ahs_v4"),
    }


@each_size
def test_counts_are_plausible(size: Size) -> None:
    assert size.name.startswith("Standard_")
    assert (size.vcpus is None) == (size.quota_vcpus is None)
    if size.vcpus is not None and size.quota_vcpus is not None:
        assert 0 < size.vcpus <= size.quota_vcpus
        constrained = "-" in size.name
        assert (size.vcpus < size.quota_vcpus) == constrained
    assert size.memory_gib is None or size.memory_gib > 0
    if size.gpu is None:
        assert size.gpu_count in (0, None)
    if size.gpu_count == 0:
        assert size.gpu_memory_gib == 0


@each_size
def test_every_successor_is_a_size_or_a_series_of_the_catalog(size: Size) -> None:
    for name in (*size.successors, *size.series.successors):
        assert SIZES.find(name) is not None or name in SERIES
        assert name not in (size.name, size.series.name)
        found = SIZES.find(name)
        assert found is None or found.name == name  # as it is spelt


def followed(size: Size, day: date) -> set[str]:
    """Names of the sizes that its successors lead to on that day, through those that have retired."""
    waiting = [*size.successors, *size.series.successors]
    visited: set[str] = set()
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in visited:
            continue
        visited.add(name)
        for candidate in SIZES:
            if name not in (candidate.name, candidate.series.name):
                continue
            if candidate.lifecycle.status(day) is Status.RETIRED:
                waiting += [*candidate.successors, *candidate.series.successors]
            else:
                reached.add(candidate.name)
    return reached


ENDING = {size.name: (size, size.lifecycle.end.day) for size in SIZES if size.lifecycle.end is not None}
each_ending_size = each_row(("size", "last_day"), ENDING.values(), ids=ENDING)


@each_ending_size
def test_a_size_with_a_last_day_leads_to_one_that_is_sold_today(size: Size, last_day: date) -> None:
    assert followed(size, TODAY)
    assert followed(size, last_day + timedelta(days=1))


@each_ending_size
def test_no_successor_had_retired_when_the_size_did(size: Size, last_day: date) -> None:
    names = {*size.successors, *size.series.successors}
    successors = [other for other in SIZES if names & {other.name, other.series.name}]
    assert not [other.name for other in successors if other.lifecycle.status(last_day) is Status.RETIRED]


@of_table("one", "other", "same")
def test_quota_families_are_compared_without_case_and_spaces(one: str, other: str, same: bool) -> None:
    assert same_family(one, other) is same


@given(st.sampled_from(list(SIZES)), st.dates(date(2010, 1, 1), date(2035, 1, 1)), st.text(max_size=20))
def test_every_size_answers_for_every_day_and_region(size: Size, day: date, region: str) -> None:
    status = size.lifecycle.status(day, region)
    end = size.lifecycle.end_in(region)
    assert (status is Status.RETIRED) == (end is not None and day > end.day)
