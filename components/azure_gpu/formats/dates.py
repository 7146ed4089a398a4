"""Dates and instants as users, the engine and Azure spell them.

The engine turns an unquoted `2019-06-01` in a stack file into `2019-06-01 00:00:00 +0000 UTC`, so both mean the same day.
"""

import calendar
import re
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.formats.tags import EXPIRES_AT, PROPOSED_DAYS

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?: 00:00:00 \+0000 UTC|T00:00:00(?:\.0+)?Z)?")

SPELLING = "a day as YYYY-MM-DD"


def parse_day(text: str) -> date | None:
    """The day that `text` names in one of its spellings, or None where it names none."""
    match = _DAY.fullmatch(text.strip())
    if match is None:
        return None
    try:
        return date.fromisoformat(match[1])
    except ValueError:
        return None


def nearest_day(text: str) -> date | None:
    """The last day of the month of a day that the calendar doesn't have, such as 2027-02-30; None for any other text."""
    match = _DAY.fullmatch(text.strip())
    if match is None or parse_day(text) is not None:
        return None
    year, month, day = (int(part) for part in match[1].split("-"))
    if not (date.min.year <= year and 1 <= month <= 12 and day):
        return None
    return date(year, month, calendar.monthrange(year, month)[1])


def days_later(day: date, days: int) -> date:
    """So many days after `day`; the calendar's last day, in the year 9999, where that is further than it goes."""
    return day + timedelta(days=min(days, (date.max - day).days))


def resolve_day(text: str | None, path: str) -> tuple[date | None, list[Problem]]:
    """Parses the date of a setting; None with a problem where it isn't valid. Returns (None, []) where the setting is absent."""
    day = parse_day(text) if text is not None else None
    return day, [] if text is None or day is not None else [_not_a_day(text, path)]


def _not_a_day(text: str, path: str) -> Problem:
    nearest = nearest_day(text)
    fix = f'write "{nearest}"' if nearest is not None else 'write it as "2026-11-30"'
    return Problem(path=path, message="not a valid date", value=text, allowed=SPELLING, fix=fix)


class End(NamedTuple):
    """The end of a part."""

    last: date | None = None  # its last day; None: it has no end, or one that isn't valid

    @property
    def at(self) -> str | None:
        """The instant at which the last day has ended, RFC 3339 in UTC."""
        return f"{days_later(self.last, 1).isoformat()}T00:00:00Z" if self.last is not None else None

    @property
    def tags(self) -> dict[str, str]:
        return {EXPIRES_AT: self.at} if self.at else {}


def resolve_end(text: str | None, day: date, path: str, what: str, with_what: str = "with a GPU") -> tuple[End, list[Problem]]:
    """Resolves `expires_after`, the required last day of `what`, such as "a job". `path`: of the setting."""
    allowed = f"a day after {day.isoformat()}, as YYYY-MM-DD"
    fix = f'expires_after: "{days_later(day, PROPOSED_DAYS).isoformat()}"'
    if text is None:
        return End(), [Problem(path=path, message=f"required for {what} {with_what}", allowed=allowed, fix=f"add {fix}")]
    last = parse_day(text)
    if last is None:
        return End(), [_not_a_day(text, path)]
    if last > day:
        return End(last), []
    past = Problem(
        path=path,
        message=f"must be after {day.isoformat()}, the date that it is checked against",
        value=text,
        allowed=allowed,
        fix=f"write {fix}, or remove the {what.removeprefix('an ').removeprefix('a ')}",
        code=Code.EXPIRED,
    )
    return End(last), [past]


def instant(text: str | None) -> datetime | None:
    """An RFC 3339 instant; None where there is none, or one that isn't understood."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
