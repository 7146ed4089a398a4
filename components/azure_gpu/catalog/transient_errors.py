"""Errors of Azure that pass by themselves, and how long to retry."""

import re
from functools import cache
from typing import NamedTuple

from azure_gpu.catalog import tables
from azure_gpu.catalog.tables import Table

PAUSE_SECONDS = (5.0, 30.0)  # before another attempt: first, and maximum

# Batch's refusal of a request that names what can't change: Azure/Batch issue 85.
CANNOT_BE_UPDATED = "PropertyCannotBeUpdated"
# What the provider says of a create whose resource is there, and the component of one that has appeared behind a refusal.
ALREADY_THERE = "cannot create already existing resource"
APPEARED = "it has appeared behind a refusal"
# Parts of messages about missing permissions. That services use one of them for an identity with a new role is assumed, so they
# are considered only for resources whose roles were assigned just before.
_NO_RIGHT = ("authorization", "forbidden", "permission", "unauthorized", "access denied")


class TransientError(NamedTuple):
    """An error that passes by itself."""

    parts: tuple[str, ...]
    """Regular expressions that all match its text in lower case."""
    why: str
    """The cause, for the user."""
    most_minutes: int

    @property
    def message(self) -> str:
        """For the user, at the first retry."""
        return f"{self.why}; retrying for up to {self.most_minutes} minutes"

    def is_over(self, tried: int) -> bool:
        """Whether the pauses between this number of attempts have reached the time limit."""
        return sum(map(pause, range(1, tried))) >= self.most_minutes * 60


# Operations on a cluster, its pools or an endpoint take 2 to 20 minutes:
# Azure/terraform-azurerm-avm-res-containerservice-managedcluster pull request 160 (2026-02-24); Microsoft Learn,
# machine-learning/how-to-troubleshoot-online-endpoints, 409 (2026-11).
TABLE = Table(
    tables.beside(__file__, "transient_errors.csv"),
    {
        "parts": "regular expressions that all match the error's text in lower case",
        "why": "the cause, for the user",
        "most_minutes": "how long it is retried: `roles.DELAY_MINUTES` for roles, 30 for operations on a cluster or an endpoint",
        "source": "by whom it was seen",
    },
)


@cache
def known() -> tuple[TransientError, ...]:
    """The errors. The file is read at the first call."""
    rows = tables.read(TABLE)
    return tuple(TransientError(row.texts("parts"), row.filled("why"), row.whole("most_minutes") or 0) for row in rows)


def find(error: str) -> TransientError | None:
    """The transient error that the text matches; None for any other."""
    text = error.lower()
    return next((each for each in known() if all(re.search(part, text) for part in each.parts)), None)


def is_missing_permission(error: str) -> bool:
    """Whether the error is about missing permissions. A denial by Azure Policy names its assignment, whose type contains one of
    the words, and no role changes that."""
    text = error.lower().replace("microsoft.authorization", "")
    return any(part in text for part in _NO_RIGHT)


def pause(tried: int) -> float:
    """Seconds before the next attempt, after this number of attempts."""
    return min(PAUSE_SECONDS[0] * tried, PAUSE_SECONDS[1])
