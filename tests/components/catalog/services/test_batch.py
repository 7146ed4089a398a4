"""Sizes, regions and features of Azure Batch. Expectations are literals read in the service's documentation and notices."""

from datetime import date

import pytest

from azure_gpu.catalog.problems import Code, Severity
from azure_gpu.catalog.services.batch import sizes as batch
from azure_gpu.catalog.sizes import SIZES

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


def test_every_series_of_the_table_is_one_that_exists() -> None:
    assert set(batch.SERIES) <= {one.series.name for one in SIZES}
