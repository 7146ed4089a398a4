"""The last day of what costs money: what a setting `expires_after` says, as the instant that the tag `expires-at` holds.

In: the setting and the day at which it is judged. Out: the instant at which the last day ends in UTC, and problems; or the day.
"""

from datetime import date

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.formats.dates import days_later, parse_day
from azure_gpu.formats.tags import PROPOSED_DAYS
from azure_gpu.shared.context import resolve_day


def resolve_end(
    text: str | None, day: date, path: str, what: str, with_what: str = "with a GPU"
) -> tuple[str | None, list[Problem]]:
    """The end of `what`, such as "a job", which has a GPU and so needs one. `path` is where `expires_after` is written."""
    allowed = f"a day after {day.isoformat()}, as YYYY-MM-DD"
    fix = f'expires_after: "{days_later(day, PROPOSED_DAYS).isoformat()}"'
    if text is None:
        return None, [Problem(path=path, message=f"{what} {with_what} needs a last day", allowed=allowed, fix=f"add {fix}")]
    last, problems = resolve_day(text, path)
    if last is None:
        return None, problems
    expires_at = f"{days_later(last, 1).isoformat()}T00:00:00Z"
    if last > day:
        return expires_at, []
    past = Problem(
        path=path,
        message=f"the last day has to lie after {day.isoformat()}, at which this is judged",
        value=text,
        allowed=allowed,
        fix=f"write {fix}, or remove the {what.removeprefix('a ')}",
        code=Code.EXPIRED,
    )
    return expires_at, [past]


def last_day(text: str | None) -> date | None:
    """The last day that the setting gives; None without one, or where it gives none."""
    return parse_day(text) if text is not None else None
