"""Functions of instants: dateTimeAdd, dateTimeFromEpoch, dateTimeToEpoch, and how `utcNow` writes one.

Source: Microsoft Learn, azure-resource-manager/templates/template-functions-date. Of .NET's format strings the letters that make
up a date are known; others are rejected by name.
"""

import calendar
import re
from datetime import UTC, datetime, timedelta

from azure_gpu.catalog import durations
from azure_gpu.formats.arm_template.values import Arguments, Function

_LETTERS = {
    "yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%-m", "dddd": "%A",
    "ddd": "%a", "dd": "%d", "d": "%-d", "HH": "%H", "hh": "%I", "mm": "%M", "ss": "%S", "tt": "%p",
}  # fmt: skip
_WHOLE = {"u": "yyyy-MM-dd HH:mm:ss'Z'", "s": "yyyy-MM-dd'T'HH:mm:ss", "d": "MM/dd/yyyy", "": "yyyyMMdd'T'HHmmss'Z'"}
_PIECE = re.compile(r"'[^']*'|y+|M+|d+|H+|h+|m+|s+|t+|[A-Za-z]|[^A-Za-z']+")


def written(instant: datetime, form: str, given: Arguments) -> str:
    """An instant in one of .NET's formats; "" is the one of `utcNow()`."""
    pieces = _PIECE.findall(_WHOLE.get(form, form))
    return "".join(_piece(instant, piece, given) for piece in pieces)


def _piece(instant: datetime, piece: str, given: Arguments) -> str:
    if piece.startswith("'"):
        return piece[1:-1]
    if piece in _LETTERS:
        code = _LETTERS[piece]
        return instant.strftime(code.replace("-", "")).lstrip("0") if "-" in code else instant.strftime(code)
    if piece in ("T", "Z") or not piece.isalpha():
        return piece
    raise given.refused(f"the form '{piece[:20]}' of a date is not known here", f"known are {', '.join(_LETTERS)}")


def _read(given: Arguments, text: str) -> datetime:
    for form in ("%Y%m%dT%H%M%SZ", "%Y-%m-%d %H:%M:%SZ"):
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise given.refused("the text isn't a date") from error
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


def _add(given: Arguments) -> str:
    instant = _read(given, given.text(0))
    duration = durations.read(given.text(1))
    if duration is None:
        raise given.refused("the duration is not ISO 8601", "such as P3Y, PT1H or -P7D")
    try:
        year, month = divmod(instant.year * 12 + instant.month - 1 + duration.months, 12)
        day = min(instant.day, calendar.monthrange(year, month + 1)[1])
        later = instant.replace(year=year, month=month + 1, day=day) + timedelta(seconds=duration.seconds)
    except (ValueError, OverflowError, IndexError) as error:
        raise given.refused("the result isn't a date") from error
    return written(later, given.text(2), given) if len(given) > 2 else later.strftime("%Y-%m-%dT%H:%M:%SZ")


def _from_epoch(given: Arguments) -> str:
    try:
        return datetime.fromtimestamp(given.number(0), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError) as error:
        raise given.refused("the result isn't a date") from error


def _to_epoch(given: Arguments) -> int:
    return int(_read(given, given.text(0)).timestamp())


FUNCTIONS: tuple[Function, ...] = (
    Function("dateTimeAdd", _add, 2, 3),
    Function("dateTimeFromEpoch", _from_epoch, 1, 1),
    Function("dateTimeToEpoch", _to_epoch, 1, 1),
)
