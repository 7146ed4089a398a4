"""Times of probes and requests as ARM spells them: ISO 8601 durations, such as `PT10S` or `PT0.5S`."""

import re

_NUMBER = r"\d+(?:\.\d+)?"
_FORM = re.compile(
    rf"P(?:(?P<days>{_NUMBER})D)?"
    rf"(?:T(?:(?P<hours>{_NUMBER})H)?(?:(?P<minutes>{_NUMBER})M)?(?:(?P<seconds>{_NUMBER})S)?)?"
)
_SECONDS = {"days": 86400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}


def seconds(text: str) -> float | None:
    """None where it isn't such a duration."""
    found = _FORM.fullmatch(text)
    if found is None or not any(found.groupdict().values()) or text.endswith("T"):
        return None
    return sum(float(value) * _SECONDS[name] for name, value in found.groupdict().items() if value is not None)
