"""Durations of ISO 8601."""

from datetime import timedelta

import pytest

from azure_gpu.catalog import durations


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("PT5S", 5), ("PT0.5S", 0.5), ("PT1M30S", 90), ("P1DT1H", 90000), ("P1W", 604800)),
        *(
            ("PT", None),
            ("5", None),
            ("P", None),
            ("PT5", None),
            ("P1DT", None),
            ("-PT5S", None),
            ("P1M", None),
            ("PT1.5H", None),
        ),
    ],
)
def test_a_length_is_one_of_weeks_days_and_times(text: str, seconds: float | None) -> None:
    assert durations.seconds(text) == seconds
    assert durations.length(text) == (None if seconds is None else timedelta(seconds=seconds))


def test_years_are_months_and_a_sign_is_that_of_the_whole() -> None:
    assert durations.read("P1Y2M3DT4H") == (14, 3 * 86400 + 4 * 3600)
    assert durations.read("-P1YT1S") == (-12, -1)
    assert durations.length("P999999999D") == timedelta(days=999_999_999)
    assert durations.length("P999999999W") == timedelta.max
