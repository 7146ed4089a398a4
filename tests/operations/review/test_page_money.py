"""Money on a review's page: what isn't known is said, and never 0."""

import pytest

from azure_gpu_operations.review.model import Amount
from azure_gpu_operations.review.page import chart, money
from tests.operations.review import sample


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, "-"),
        (Amount(0, 0), "0.00"),
        (Amount(0, 1), "not known"),
        (Amount(12.5, 1), "at least 12.50"),
        (Amount(1234.5, 0), "1,234.50"),
        (Amount(0.0926, 0), "0.0926"),
        (Amount(0.658, 0), "0.658"),
    ],
)
def test_an_amount(amount: Amount | None, text: str) -> None:
    assert money.amount(amount) == text


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (Amount(1, 0), Amount(1, 0), "0"),
        (Amount(1, 0), Amount(3.5, 0), "+2.50"),
        (Amount(3.5, 2), Amount(1, 2), "-2.50"),
        (None, Amount(2, 0), "+2.00"),
        (Amount(2, 0), None, "-2.00"),
        (Amount(0, 1), Amount(0, 1), "not known"),
        (None, Amount(0, 1), "not known"),
    ],
)
def test_a_change(before: Amount | None, after: Amount | None, text: str) -> None:
    assert money.change(before, after) == text


def test_hours_of_gpus_that_are_not_known() -> None:
    assert (money.hours(None), money.hours(1_460.0)) == ("not known", "1,460")


def test_a_chart_tells_each_amount_and_that_one_is_not_known() -> None:
    costs = sample.sample().stacks[1].costs
    assert costs is not None

    drawn = chart.drawn(costs.parts)

    assert "pools.train then, at most: 1,372.40 USD" in drawn
    assert "… then, expected: not known<" in drawn
    assert drawn.count("<title>") == 3 * 2 * len(costs.parts)
    assert "<style" not in drawn
    assert "style=" not in drawn


def test_there_is_no_chart_of_nothing() -> None:
    costs = sample.sample().stacks[1].costs
    assert costs is not None

    assert chart.drawn(costs.parts[2:]) == ""
    assert chart.drawn(()) == ""
