"""Sizes, regions and features of Azure Batch. Expectations are literals read in the service's documentation and notices."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.batch import sizes as batch
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size


def size(name: str) -> Size:
    found = SIZES.find(name)
    assert found is not None
    return found


def problems(name: str, day: date, region: str = "westeurope", **changed: Any) -> list[Problem]:
    use = SizeUse(service=Service.BATCH, size=name, region=region, path="pool.size", region_path="location", **changed)
    return list(batch.size_problems(size(name), use, day))


ENDS = [
    (batch.CLOUD_SERVICES, date(2024, 2, 29)),
    (batch.CLASSIC_COMMUNICATION, date(2026, 3, 31)),
    (batch.MANAGED_IMAGE, date(2026, 3, 31)),
    (batch.POOL_CERTIFICATES, date(2024, 2, 29)),
    (batch.LOW_PRIORITY, date(2025, 9, 30)),
]


@pytest.mark.parametrize(("feature", "last"), ENDS, ids=[feature.what for feature, _ in ENDS])
def test_a_feature_works_until_its_last_day(feature: batch.Feature, last: date) -> None:
    (warning,) = [one for one in batch.feature_problems(feature, last, "here", True) if one.code is Code.RETIRING]
    assert warning.severity is Severity.WARNING
    (error,) = batch.feature_problems(feature, date.fromordinal(last.toordinal() + 1), "here", True)
    assert (error.code, error.severity) == (Code.RETIRED, Severity.ERROR)
    assert last.isoformat() in error.message
    assert error.fix


def test_classic_communication_needs_two_ports_and_simplified_none() -> None:
    assert batch.INBOUND_PORTS == {"Simplified": (), "Classic": (29876, 29877)}
    assert batch.OUTBOUND_TAGS["Simplified"] == ("BatchNodeManagement.<region>",)
    assert "Storage.<region>" in batch.OUTBOUND_TAGS["Classic"]


def test_every_series_of_the_table_is_one_that_exists() -> None:
    assert set(batch.SERIES) <= {one.series.name for one in SIZES}


@given(
    st.sampled_from([one.name for one in SIZES]),
    st.dates(date(2010, 1, 1), date(2040, 1, 1)),
    st.sampled_from(["westeurope", "westindia", "uaenorth", "", "nowhere"]),
)
def test_no_size_and_no_day_raises_and_every_problem_has_a_source(name: str, day: date, region: str) -> None:
    for problem in problems(name, day, region=region):
        assert problem.path in {"pool.size", "location"}
        assert problem.source
