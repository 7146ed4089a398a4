"""A pool, a job or the configuration of a Shipyard file, which knows the line of everything in it."""

import re
from datetime import timedelta
from typing import Any, NamedTuple, cast

from azure_gpu.formats.document import Document
from azure_gpu.formats.left import Left

_TIME = re.compile(r"(?:(\d+)\.)?(\d+):(\d{1,2}):(\d{1,2})(?:\.\d+)?")


class Part(NamedTuple):
    """A pool, a job or the global configuration. Paths inside of it are those of its body, such as `vm_count.dedicated`."""

    body: dict[str, Any]
    document: Document  # without its values, as secrets may be among them
    path: str  # of the body in the document; "" is all of it

    def at(self, path: str = "") -> str:
        """Where a problem is: `pool.yaml:3: pool_specification.vm_size`."""
        whole = f"{self.path}.{path}" if self.path and path else self.path or path
        return self.document.at(whole)

    def get(self, path: str) -> Any:
        """The value at a path of words with dots; None where it isn't there."""
        value: Any = self.body
        for step in path.split("."):
            value = cast(dict[str, Any], value).get(step) if isinstance(value, dict) else None
        return value

    def things(self, path: str) -> dict[str, Any]:
        """What is at a path, where it is a mapping; else nothing."""
        value = self.get(path)
        return cast(dict[str, Any], value) if isinstance(value, dict) else {}

    def texts(self, path: str) -> list[str]:
        """What is at a path, where it is a list of texts; else nothing."""
        value = self.get(path)
        return [str(one) for one in cast(list[object], value)] if isinstance(value, list) else []

    def items(self, path: str) -> list[dict[str, Any]]:
        """What is at a path, where it is a list of mappings; else nothing."""
        value = self.get(path)
        listed = cast(list[Any], value) if isinstance(value, list) else []
        return [cast(dict[str, Any], one) for one in listed if isinstance(one, dict)]

    def leave(self, path: str, message: str, fix: str = "") -> Left:
        return Left(self.at(path), message, fix)

    def change(self, path: str, message: str, fix: str = "") -> Left:
        return Left(self.at(path), message, fix, changed=True)


def duration(value: object) -> timedelta | None:
    """`d.HH:mm:ss`, as Shipyard writes a length of time. YAML 1.1 reads some of them as a number of seconds. None: it is none."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return timedelta(seconds=value)
    match = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    days, hours, minutes, seconds = (int(number or 0) for number in match.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def minutes_of(length: timedelta) -> int | float:
    """For a key in minutes: whole where it is."""
    minutes = length.total_seconds() / 60
    return int(minutes) if minutes == int(minutes) else round(minutes, 3)
