"""Dates and instants as users, the engine and Azure spell them.

The engine turns an unquoted `2019-06-01` in a stack file into `2019-06-01 00:00:00 +0000 UTC`, so both mean the same day.
"""

import calendar
import re
from datetime import UTC, date, datetime, timedelta

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


def end_of(day: date) -> str:
    """The instant at which a day has ended, RFC 3339 in UTC."""
    return f"{days_later(day, 1).isoformat()}T00:00:00Z"


def instant(text: str | None) -> datetime | None:
    """An RFC 3339 instant; None where there is none, or one that isn't understood."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
