"""Days as users spell them, and days that lie further than the calendar goes."""

from datetime import date

from azure_gpu.formats.dates import days_later


def test_so_many_days_later() -> None:
    assert days_later(date(2024, 2, 28), 2) == date(2024, 3, 1)


def test_the_calendar_ends_in_the_year_9999() -> None:
    assert days_later(date(2026, 11, 21), 999_999_999) == date(9999, 12, 31)
    assert days_later(date(9999, 12, 31), 1) == date(9999, 12, 31)
