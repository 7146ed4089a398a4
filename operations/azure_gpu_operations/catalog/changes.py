"""What a refresh changes: the new text of each file, a row for each difference, and the sources that changed nothing."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple


class What(StrEnum):
    """The kinds of difference."""

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"
    CONTRADICTS = "contradicts"  # another table of the catalog, which is left as it is: somebody has to read both
    LEFT_OUT = "left out"


class Change(NamedTuple):
    """One difference."""

    what: What
    subject: str  # Kubernetes 1.37; Standard_NC4as_T4_v3 on demand in eastus
    before: str
    after: str
    source: str  # with its day


@dataclass(slots=True)
class Refreshed:
    """The result of one or several sources."""

    texts: dict[Path, str] = field(default_factory=dict[Path, str])
    changes: list[Change] = field(default_factory=list[Change])
    failed: dict[str, str] = field(default_factory=dict[str, str])  # by source, why it changed nothing

    def add(self, other: "Refreshed") -> None:
        self.texts |= other.texts
        self.changes += other.changes
        self.failed |= other.failed

    def as_json(self) -> dict[str, Any]:
        changes = [each._asdict() for each in self.changes]
        return {"changes": changes, "failed": self.failed, "files": [path.name for path in self.texts]}

    def as_markdown(self) -> Iterator[str]:
        """The lines of a pull request's text."""
        yield "| | what | before | now | source |"
        yield "| --- | --- | --- | --- | --- |"
        for each in self.changes:
            cells = (each.what, each.subject, each.before or "-", each.after or "-", each.source)
            yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
        for name, reason in self.failed.items():
            yield ""
            yield f"{name} changed nothing: {reason}"


class SourceError(Exception):
    """A source gave no usable answer. The text has the request and the answer."""
