"""Durations of ISO 8601."""

from datetime import timedelta

from azure_gpu.catalog import durations
from tests.support.tables import of_table


@of_table("text", "seconds")
def test_a_length_is_one_of_weeks_days_and_times(text: str, seconds: float | None) -> None:
    assert durations.seconds(text) == seconds
    assert durations.length(text) == (None if seconds is None else timedelta(seconds=seconds))


def test_years_are_months_and_a_sign_is_that_of_the_whole() -> None:
    assert durations.read("P1Y2M3DT4H") == (14, 3 * 86400 + 4 * 3600)
    assert durations.read("-P1YT1S") == (-12, -1)
    assert durations.length("P999999999D") == timedelta(days=999_999_999)
    assert durations.length("P999999999W") == timedelta.max
