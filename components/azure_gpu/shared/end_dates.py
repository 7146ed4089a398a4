"""Converts the setting `expires_after` (a date) to the tag `expires-at` (the end of that day, RFC 3339 in UTC)."""

from datetime import date

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.formats.dates import days_later, parse_day
from azure_gpu.formats.tags import PROPOSED_DAYS
from azure_gpu.shared.context import resolve_day


def resolve_end(
    text: str | None, day: date, path: str, what: str, with_what: str = "with a GPU"
) -> tuple[str | None, list[Problem]]:
    """Resolves the required end of `what`, such as "a job". `path`: of `expires_after`."""
    allowed = f"a day after {day.isoformat()}, as YYYY-MM-DD"
    fix = f'expires_after: "{days_later(day, PROPOSED_DAYS).isoformat()}"'
    if text is None:
        return None, [Problem(path=path, message=f"required for {what} {with_what}", allowed=allowed, fix=f"add {fix}")]
    last, problems = resolve_day(text, path)
    if last is None:
        return None, problems
    expires_at = f"{days_later(last, 1).isoformat()}T00:00:00Z"
    if last > day:
        return expires_at, []
    past = Problem(
        path=path,
        message=f"must be after {day.isoformat()}, the date that it is checked against",
        value=text,
        allowed=allowed,
        fix=f"write {fix}, or remove the {what.removeprefix('an ').removeprefix('a ')}",
        code=Code.EXPIRED,
    )
    return expires_at, [past]


def last_day(text: str | None) -> date | None:
    """Returns the date of the setting; None where it is absent or not valid."""
    return parse_day(text) if text is not None else None
