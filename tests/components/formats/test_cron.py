"""Schedules: what cron takes, and what a user gets for what it doesn't."""

import pytest
from hypothesis import given, strategies as st

from azure_gpu.formats import cron
from tests.support.tables import of_table


@pytest.mark.parametrize(
    "text",
    ["0 2 * * *", "*/15 * * * *", "0,30 8-18/2 1,15 * mon-fri", "59 23 31 12 6", "  0   0 1 JAN Sun  ", "0 0 * feb-apr 0"],
)
def test_a_schedule_is_five_fields_of_numbers_names_ranges_lists_and_steps(text: str) -> None:
    assert cron.fault(text) is None


@of_table("text", "why")
def test_anything_else_is_refused_with_the_field_that_is_wrong(text: str, why: str) -> None:
    said = cron.fault(text)
    assert said is not None
    assert said.startswith(why)


@given(st.text(max_size=40))
def test_no_text_makes_it_raise(text: str) -> None:
    cron.fault(text)
