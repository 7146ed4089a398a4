"""Schedules: what cron takes, and what a user gets for what it doesn't."""

import pytest
from hypothesis import given, strategies as st

from azure_gpu.formats import cron
from tests.support.rows import each_row


@pytest.mark.parametrize(
    "text",
    ["0 2 * * *", "*/15 * * * *", "0,30 8-18/2 1,15 * mon-fri", "59 23 31 12 6", "  0   0 1 JAN Sun  ", "0 0 * feb-apr 0"],
)
def test_a_schedule_is_five_fields_of_numbers_names_ranges_lists_and_steps(text: str) -> None:
    assert cron.fault(text) is None


@each_row(
    ("text", "why"),
    [
        ("", "a schedule has five fields, and this has 0"),
        ("@daily", "a schedule has five fields, and this has 1"),
        ("0 0 2 * * *", "a schedule has five fields, and this has 6"),
        ("60 * * * *", "'60' isn't a valid minute, 0 to 59"),
        ("* 24 * * *", "'24' isn't a valid hour"),
        ("* * 0 * *", "'0' isn't a valid day of month, 1 to 31"),
        ("* * * 13 *", "'13' isn't a valid month"),
        ("* * * * 7", "'7' isn't a valid day of week, 0 to 6"),
        ("* * * * fri-mon", "'fri-mon' isn't a valid day of week"),
        ("*/0 * * * *", "'*/0' isn't a valid minute"),
        ("1,,2 * * * *", "'1,,2' isn't a valid minute"),
        ("5/ * * * *", "'5/' isn't a valid minute"),
        ("-1 * * * *", "'-1' isn't a valid minute"),
        ("\u0661 * * * *", "'\u0661' isn't a valid minute"),
    ],
)
def test_anything_else_is_refused_with_the_field_that_is_wrong(text: str, why: str) -> None:
    said = cron.fault(text)
    assert said is not None
    assert said.startswith(why)


@given(st.text(max_size=40))
def test_no_text_makes_it_raise(text: str) -> None:
    cron.fault(text)
