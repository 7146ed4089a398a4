"""What Azure takes as a budget, and how what a month costs stands against one.

In: the cost of a month as far as it is known, the number of parts whose cost isn't, and a budget. Out: a `Standing`.
"""

from datetime import date
from enum import StrEnum
from typing import NamedTuple

from azure_gpu.catalog.sources import Dated, Source

# Numbers, and what a budget has to have: the descriptions of Budget and Notification.
SPECIFICATION = Source("Azure/azure-rest-api-specs, Microsoft.Consumption/budgets 2024-08-01", Dated.OBSERVED, date(2026, 11, 26))
MOST_NOTIFICATIONS = 5
MOST_CONTACTS = 50  # addresses, and action groups, of one notification
MOST_PERCENT = 1000


class Verdict(StrEnum):
    UNDER = "under"  # or as much: nothing is left, and nothing is too much
    OVER = "over"
    UNKNOWN = "unknown"  # what is known is within it, and more is to come


class Standing(NamedTuple):
    """How what a month costs stands against a budget, in USD."""

    verdict: Verdict
    budget: float
    cost: float  # as far as it is known
    unknown: int  # parts whose cost isn't

    @property
    def over_by(self) -> float:
        """What is too much; with unknown parts at least that. 0 where nothing is known to be."""
        return max(0.0, round(self.cost - self.budget, 2))

    def __str__(self) -> str:
        of = f"the budget of {self.budget:,.2f} USD a month"
        parts = "1 part has" if self.unknown == 1 else f"{self.unknown} parts have"
        if self.verdict is Verdict.OVER:
            beside = f", and {parts} a cost that isn't known" if self.unknown else ""
            return f"over {of} by {'at least ' if self.unknown else ''}{self.over_by:,.2f} USD{beside}"
        if self.verdict is Verdict.UNDER:
            return f"within {of}, of which {max(0.0, self.budget - self.cost):,.2f} USD are left"
        return f"whether it is within {of} isn't known: {parts} a cost that isn't known, the rest costs {self.cost:,.2f} USD"


def standing(cost: float, unknown: int, budget: float) -> Standing:
    """`cost`: what the parts cost in a month whose cost is known; `unknown`: how many others there are. What is over the budget
    already is over it, whatever the others cost."""
    verdict = Verdict.OVER if round(cost, 2) > budget else Verdict.UNKNOWN if unknown else Verdict.UNDER
    return Standing(verdict, budget, cost, unknown)
