"""Limits of Azure budgets, and the comparison of a monthly cost with a budget."""

from typing import Literal, NamedTuple

# Limits: the descriptions of Budget and Notification.
MOST_NOTIFICATIONS = 5
MOST_CONTACTS = 50  # addresses, and action groups, of one notification
MOST_PERCENT = 1000


Verdict = Literal[
    "under",  # or equal
    "over",
    "unknown",  # the known cost is within the budget, but isn't all of it
]


class Standing(NamedTuple):
    """A monthly cost compared with a budget, in USD."""

    verdict: Verdict
    budget: float
    cost: float  # as far as it is known
    unknown: int  # parts whose cost isn't

    @property
    def over_by(self) -> float:
        """The excess; with unknown parts the least excess. 0 if none is known."""
        return max(0.0, round(self.cost - self.budget, 2))

    def __str__(self) -> str:
        of = f"the budget of {self.budget:,.2f} USD a month"
        parts = "1 part" if self.unknown == 1 else f"{self.unknown} parts"
        if self.verdict == "over":
            beside = f"; the cost of {parts} is unknown" if self.unknown else ""
            return f"over {of} by {'at least ' if self.unknown else ''}{self.over_by:,.2f} USD{beside}"
        if self.verdict == "under":
            return f"within {of}, {max(0.0, self.budget - self.cost):,.2f} USD left"
        return f"possibly over {of}: the cost of {parts} is unknown, the rest costs {self.cost:,.2f} USD"


def standing(cost: float, unknown: int, budget: float) -> Standing:
    """Compares a month with a budget. `cost`: the total known cost; `unknown`: the number of parts without a known cost."""
    verdict = "over" if round(cost, 2) > budget else "unknown" if unknown else "under"
    return Standing(verdict, budget, cost, unknown)
