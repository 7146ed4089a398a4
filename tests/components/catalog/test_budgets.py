"""A month's cost against a budget: what isn't known is never counted as nothing, and what is too much is said at once."""

import pytest

from azure_gpu.catalog.budgets import Verdict, standing


@pytest.mark.parametrize(
    ("cost", "unknown", "verdict", "over", "words"),
    [
        (0.0, 0, Verdict.UNDER, 0.0, "within the budget of 500.00 USD a month, 500.00 USD left"),
        (500.004, 0, Verdict.UNDER, 0.0, ", 0.00 USD left"),
        (500.01, 0, Verdict.OVER, 0.01, "over the budget of 500.00 USD a month by 0.01 USD"),
        (1620.5, 0, Verdict.OVER, 1120.5, "by 1,120.50 USD"),
        (620.5, 2, Verdict.OVER, 120.5, "by at least 120.50 USD; the cost of 2 parts is unknown"),
        (
            430.0,
            1,
            Verdict.UNKNOWN,
            0.0,
            "possibly over the budget of 500.00 USD a month: the cost of 1 part is unknown, the rest costs 430.00 USD",
        ),
        (0.0, 3, Verdict.UNKNOWN, 0.0, "the cost of 3 parts is unknown"),
    ],
)
def test_a_cost_is_under_over_or_not_known(cost: float, unknown: int, verdict: Verdict, over: float, words: str) -> None:
    found = standing(cost, unknown, 500)
    assert found.verdict is verdict
    assert found.over_by == over
    assert words in str(found)
    assert ("left" in str(found)) is (verdict is Verdict.UNDER)
