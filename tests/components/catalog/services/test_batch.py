"""Sizes, regions and features of Azure Batch. Expectations are literals read in the service's documentation and notices."""

from datetime import date

import pytest

from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.problems import Code, Severity
from azure_gpu.catalog.services.batch import sizes as batch
from azure_gpu.catalog.sizes import SIZES

ENDS = [
    ("batch.cloud_services", date(2024, 2, 29)),
    ("batch.classic_communication", date(2026, 3, 31)),
    ("batch.managed_image", date(2026, 3, 31)),
    ("batch.pool_certificates", date(2024, 2, 29)),
    ("batch.low_priority", date(2025, 9, 30)),
]


@pytest.mark.parametrize(("name", "last"), ENDS, ids=[name for name, _ in ENDS])
def test_a_feature_works_until_its_last_day(name: str, last: date) -> None:
    (warning,) = [one for one in lifecycle.of_part(name, last, "here", True) if one.code is Code.RETIRING]
    assert warning.severity is Severity.WARNING
    (error,) = lifecycle.of_part(name, date.fromordinal(last.toordinal() + 1), "here", True)
    assert (error.code, error.severity) == (Code.RETIRED, Severity.ERROR)
    assert last.isoformat() in error.message
    assert error.fix


def test_every_series_of_the_table_is_one_that_exists() -> None:
    assert set(batch.SERIES) <= {one.series.name for one in SIZES}
