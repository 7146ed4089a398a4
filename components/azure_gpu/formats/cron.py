"""Schedules of cron: five fields of minute, hour, day of month, month and day of week, in UTC.

Sunday is 0, as on the page MicrosoftDocs/azure-docs, articles/container-apps/jobs.md. It is assumed that the service accepts
neither 7 for it, which Kubernetes rejects, nor macros such as @daily."""

import re
from datetime import UTC, datetime
from typing import NamedTuple

SPELLING = "five fields in UTC: minute, hour, day of month, month, day of week, such as 0 2 * * 1-5"


class _Field(NamedTuple):
    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()  # words that stand for numbers, from `least` on


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")),
    _Field("day of week", 0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)
_PART = re.compile(r"(?P<all>\*)|(?P<first>[0-9A-Za-z]{1,3})(?:-(?P<last>[0-9A-Za-z]{1,3}))?")
_STEP = re.compile(r"[0-9]{1,2}")


def fault(text: str) -> str | None:
    """What keeps `text` from being a schedule, in the user's words; None where it is one."""
    given = text.split()
    if len(given) != len(_FIELDS):
        return f"a schedule has five fields, and this has {len(given)}"
    for field, word in zip(_FIELDS, given, strict=True):
        if any(_numbers(part, field) is None for part in word.split(",")):
            return f"{word!r} isn't a valid {field.name}, {field.least} to {field.most}"
    return None


def matches(text: str, moment: datetime) -> bool:
    """Whether a schedule, which `text` has to be, names the minute of `moment`.

    Where both days are restricted either will do, as cron and Kubernetes have it.
    """
    fields = text.split()
    now = moment.astimezone(UTC)
    values = (now.minute, now.hour, now.day, now.month, now.isoweekday() % 7)
    minute, hour, day, month, weekday = (
        any(value in (_numbers(part, field) or ()) for part in word.split(","))
        for value, word, field in zip(values, fields, _FIELDS, strict=True)
    )
    either = not fields[2].startswith("*") and not fields[4].startswith("*")
    return minute and hour and month and ((day or weekday) if either else (day and weekday))


def _numbers(part: str, field: _Field) -> range | None:
    """The numbers that one part of a field stands for: `*`, `5`, `mon-fri`, `*/15`, `8-18/2`; None where it isn't one."""
    span, slash, step = part.partition("/")
    match = _PART.fullmatch(span)
    if match is None or (slash and not (_STEP.fullmatch(step) and int(step) > 0)):
        return None
    first = field.least if match["all"] else _number(match["first"], field)
    last = _number(match["last"], field) if match["last"] else field.most if match["all"] or slash else first
    if first is None or last is None or not field.least <= first <= last <= field.most:
        return None
    return range(first, last + 1, int(step) if slash else 1)


def _number(text: str, field: _Field) -> int | None:
    if text.isascii() and text.isdigit():
        return int(text)
    return field.names.index(text.lower()) + field.least if text.lower() in field.names else None
