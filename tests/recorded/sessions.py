"""Sessions with the real Azure as they lie in a folder of recordings: one JSON file each, with every request and its answer.

The files are no part of this project. Where they are missing, whoever needs them skips and says so.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from tests.support.embedded import CHECKOUT

FOLDER = CHECKOUT.parent / "shared" / "recordings"
RECENT = date(2024, 1, 1)  # sessions from here on are what the embedded Azure is held to
MANAGEMENT = "management.azure.com"
BATCH = ".batch.azure.com"
CHANGES = frozenset({"PUT", "PATCH", "POST", "DELETE"})
# Where ARM's services show a long operation, by the path alone.
_OPERATIONS = re.compile(
    r"/(locations/[^/]+|subscriptions/[^/]+/operationresults)/?.*operat"
    r"|/operationresults/|/operationstatus|asyncoperations|/privateDnsOperationStatuses/",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what Azure answered."""

    number: int  # from 0, in the file
    method: str
    host: str
    path: str
    query: Mapping[str, str]
    request: Any
    status: int
    headers: Mapping[str, str]  # those of long operations, their names in lower case
    response: Any

    @property
    def in_arm(self) -> bool:
        return self.host == MANAGEMENT

    @property
    def in_batch(self) -> bool:
        """Sent to the data plane of a Batch account."""
        return self.host.endswith(BATCH)

    @property
    def of_operation(self) -> bool:
        """Asks how far a long operation is, and no resource."""
        return self.in_arm and _OPERATIONS.search(self.path) is not None

    @property
    def error_code(self) -> str | None:
        """The code of a refusal; None where there is none or its body isn't JSON."""
        return error_code(self.response) if self.status >= 400 else None


@dataclass(frozen=True, slots=True)
class Session:
    """One recording."""

    name: str
    source: str  # the file's path in the repository that published it
    recorded: date | None
    exchanges: tuple[Exchange, ...]

    @property
    def recent(self) -> bool:
        """Of 2024 or later, as are those without a date: their publisher records anew with every api-version."""
        return self.recorded is None or self.recorded >= RECENT

    @property
    def day(self) -> str:
        return self.recorded.isoformat() if self.recorded else "no date"


def read(file: Path) -> Session:
    """The session in one file. Raises ValueError where it isn't one."""
    found = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(found, dict) or "interactions" not in found:
        raise ValueError(f"{file}: no recording: it has no 'interactions'")
    names = ("method", "host", "path", "query", "request", "status", "headers", "response")
    exchanges = (Exchange(i, *(each[name] for name in names)) for i, each in enumerate(found["interactions"]))
    return Session(found["name"], found["path"], _day(found.get("recorded")), tuple(exchanges))


def files(chosen: Iterable[Path] = ()) -> list[Path]:
    """The recordings of the given files and folders, or of the usual folder; empty where that is missing."""
    given = list(chosen) or [FOLDER]
    return [file for each in given for file in (sorted(each.glob("*.json")) if each.is_dir() else [each]) if file.exists()]


def error_code(body: Any) -> str | None:
    """The code in the body of a refusal, in ARM's envelope or without one."""
    if not isinstance(body, dict):
        return None
    inner = body.get("error") or body
    return inner.get("code") if isinstance(inner, dict) else None


def _day(text: str | None) -> date | None:
    """Publishers write 2025-08-18 or 26 Nov 2020."""
    if not text:
        return None
    return date.fromisoformat(text) if text[:4].isdigit() else datetime.strptime(text, "%d %b %Y").date()
