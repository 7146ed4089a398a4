"""Values of ARM bodies that several readers take: names, durations, identities, sizes."""

import re

from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats.body_reader import BodyReader, mapping
from azure_gpu.formats.part_in_file import PartInFile

_DURATION = re.compile(
    r"P(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?", re.IGNORECASE
)
_CLOCK = re.compile(r"(?P<days>)(?P<hours>\d+):(?P<minutes>\d{1,2}):(?P<seconds>\d{1,2}(?:\.\d+)?)")


def last(name: str | None) -> str:
    """The resource's own name, of a name or id with its parents."""
    return (name or "").rstrip("/").rsplit("/", 1)[-1]


def size_of(reader: BodyReader, key: str) -> str | None:
    """The size in the catalog's spelling, if known."""
    text = reader.text(key)
    found = SIZES.find(text) if text else None
    return found.name if found else text


def seconds(reader: BodyReader, key: str) -> float | int | None:
    """A duration, ISO 8601 or hh:mm:ss."""
    text = reader.text(key)
    found = (_DURATION.fullmatch(text) or _CLOCK.fullmatch(text)) if text else None
    if text is not None and (found is None or text.upper() in ("P", "PT")):
        reader.leave(key, "expected a duration, such as PT15M")
    if found is None:
        return None
    whole = 86400 * int(found["days"] or 0) + 3600 * int(found["hours"] or 0) + 60 * int(found["minutes"] or 0)
    number = whole + float(found["seconds"] or 0)
    return int(number) if number == int(number) else number


def minutes(reader: BodyReader, key: str) -> int | None:
    """A duration in whole minutes, rounded up."""
    found = seconds(reader, key)
    return None if found is None else int(-(-found // 60))


def identity(head: BodyReader, what: str) -> list[PartInFile]:
    """A user's own identity, which becomes the stack's. Any other is reported."""
    value = mapping(head.peek("identity"))
    ids = [str(name) for name in mapping(value.get("userAssignedIdentities")) if str(name).startswith("/")]
    if len(ids) == 1 and str(value.get("type")).lower() == "userassigned":
        head.skip("identity")
        return [PartInFile("foundation", "identity", {"existing": ids[0]}, head.at("identity"))]
    if str(value.get("type")).lower() == "none":
        head.skip("identity")
    head.leave_given("identity", f"{what} uses the stack's identity", "set foundation.identity to existing: <its ARM id>")
    return []
