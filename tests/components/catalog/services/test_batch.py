"""Sizes, regions and features of Azure Batch. Expectations are literals read in the service's documentation and notices."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.services.batch import sizes as batch
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size
from tests.support.rows import each_row

TODAY = date(2026, 11, 20)
DOCUMENT = date(2018, 12, 17)


def size(name: str) -> Size:
    found = SIZES.find(name)
    assert found is not None
    return found


def problems(name: str, day: date, region: str = "westeurope", **changed: Any) -> list[Problem]:
    use = SizeUse(service=Service.BATCH, size=name, region=region, path="pool.size", region_path="location", **changed)
    return list(batch.size_problems(size(name), use, day))


@each_row(
    "name",
    ["H16r", "H16mr", "A8", "A9", "NC6", "NC24r", "NC24rs_v2", "NC24rs_v3", "ND24rs", "NV6", "NV6s_v2", "ND40rs_v2"],
)
def test_batch_took_the_sizes_of_the_document_on_its_day(name: str) -> None:
    assert problems(name, DOCUMENT) == []


@pytest.mark.parametrize(
    "name",
    ["NC4as_T4_v3", "NC24ads_A100_v4", "NC40ads_H100_v5", "ND96asr_v4", "HB120rs_v3", "ND96isr_H100_v5", "HX176rs", "HB368rs_v5"],
)
def test_batch_takes_these_today(name: str) -> None:
    assert problems(name, TODAY) == []


@pytest.mark.parametrize("name", ["ND96amsr_A100_v4", "ND96isr_H200_v5", "NV36ads_A10_v5"])
def test_a_series_that_no_list_names_is_a_warning(name: str) -> None:
    (problem,) = problems(name, TODAY)
    assert (problem.code, problem.severity, problem.path) == (Code.UNKNOWN, Severity.WARNING, "pool.size")
    assert "az batch location list-skus" in problem.fix


def test_a100_sizes_came_into_the_list_in_2022() -> None:
    """MicrosoftDocs/azure-docs pull request 98921, merged on 2022-09-23."""
    (problem,) = problems("NC96ads_A100_v4", date(2022, 9, 22))
    assert problem.severity is Severity.WARNING
    assert problems("NC96ads_A100_v4", date(2022, 9, 23)) == []


def test_ndv2_is_doubted_since_the_list_of_2021_said_not_yet_available() -> None:
    assert problems("ND40rs_v2", date(2021, 7, 19)) == []
    (problem,) = problems("ND40rs_v2", date(2021, 7, 20))
    assert problem.severity is Severity.WARNING


def test_v100_ended_in_batch_where_the_machines_live_on() -> None:
    assert problems("NC6s_v3", date(2026, 1, 1)) == []  # said by the size itself, which ended on the same day
    (problem,) = problems("NC6s_v3", date(2026, 1, 1), region="jioindiawest")
    assert problem.code is Code.RETIRED
    assert "2025-09-30" in problem.message


def test_m60_ended_in_batch_where_the_machines_live_on() -> None:
    (problem,) = problems("NV12s_v3", date(2026, 11, 20), region="uaenorth")
    assert problem.code is Code.RETIRED
    assert "2026-09-30" in problem.message


@pytest.mark.parametrize("region", ["westindia", "West India", "chinanorth", "chinaeast", "usdodeast", "usdodcentral"])
def test_batch_left_these_regions(region: str) -> None:
    assert not errors(problems("NC4as_T4_v3", date(2026, 3, 31), region=region))
    (problem,) = problems("NC4as_T4_v3", date(2026, 4, 1), region=region)
    assert (problem.code, problem.path) == (Code.RETIRED, "location")
    assert "2026-03-31" in problem.message


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
