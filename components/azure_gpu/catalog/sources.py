"""Where a fact was read, and what its date means.

`Source`. A date is *valid from* where the source says when a fact began (or a service ended), and *observed*
where all that is known is that the source said so on that day.
"""

from datetime import date
from enum import StrEnum
from typing import NamedTuple

FACTS_DAY = date(2026, 11, 20)  # on which the facts were last gathered; sources without a day of their own have this one


class Dated(StrEnum):
    VALID_FROM = "valid from"
    OBSERVED = "observed on"


class Source(NamedTuple):
    """One source. Its text form is what a problem shows: `Microsoft Learn, ... (observed on 2025-11-17)`."""

    where: str
    dated: Dated
    day: date

    def __str__(self) -> str:
        return f"{self.where} ({self.dated} {self.day.isoformat()})"
