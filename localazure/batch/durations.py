"""ISO 8601 durations as Batch writes them, such as `PT30M` or `P7D`."""

import re
from datetime import timedelta

UNLIMITED_DAYS = 100_000  # longer than this isn't a limit: the service writes P10675199DT2H48M5.4775807S for none
_FORM = re.compile(
    r"P(?:(?P<weeks>\d{1,9})W)?(?:(?P<days>\d{1,9})D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9}(?:\.\d{1,9})?)S)?)?"
)


def parse(text: str) -> timedelta | None:
    """None where it is none."""
    found = _FORM.fullmatch(text)
    if found is None or not any(found.groups()):
        return None
    try:
        return timedelta(**{name: float(value) for name, value in found.groupdict().items() if value})
    except OverflowError:
        return timedelta.max
