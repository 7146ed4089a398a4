"""What a preflight found, for people and for programs.

In: rows, and the lists that are missing. Out: a table, a JSON object, and the exit code: 0 nothing speaks against it, 1 something
does, 3 nothing does so far but a list is missing or nothing is known of something, so that the answer is incomplete.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from azure_gpu_operations.console import columns
from azure_gpu_operations.preflight.rows import FAILING, Answer, Row

PROBLEMS = 1
INCOMPLETE = 3
_STYLES = {Answer.OK: "green", Answer.RETIRING: "yellow", Answer.UNKNOWN: "yellow", Answer.NO_CAPACITY_KNOWN: "dim"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`missing` says by list why it isn't there; `seconds` how long each list took."""

    as_of: date
    rows: tuple[Row, ...]
    missing: Mapping[str, str] = field(default_factory=dict[str, str])
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def exit_code(self) -> int:
        if any(row.answer in FAILING for row in self.rows):
            return PROBLEMS
        return INCOMPLETE if self.missing or self.unchecked else 0

    @property
    def unchecked(self) -> tuple[str, ...]:
        """What nothing is known of, such as a misspelt size where no list of Azure was read."""
        known = {row.subject for row in self.rows if row.answer is not Answer.UNKNOWN}
        return tuple(dict.fromkeys(row.subject for row in self.rows if row.subject not in known))

    def as_json(self) -> dict[str, Any]:
        return {
            "as_of": self.as_of.isoformat(),
            "rows": [asdict(row) for row in self.rows],
            "missing": dict(self.missing),
            "seconds": {name: round(seconds, 3) for name, seconds in self.seconds.items()},
            "exit_code": self.exit_code,
        }

    def show(self, console: Console) -> None:
        table = Table(*columns("Subject", "Check", "Answer", "Why, and what to do"))
        for row in self.rows:
            style = "red" if row.answer in FAILING else _STYLES[row.answer]
            said = "; ".join(part for part in (row.message, row.fix, row.source and f"source: {row.source}") if part)
            table.add_row(Text(row.subject), Text(row.check), Text(row.answer, style), Text(said))
        if self.rows:
            console.print(table)
        for name, reason in self.missing.items():
            console.print(Text(f"missing: {name}: {reason}"))
        console.print(Text(self._conclusion()))

    def _conclusion(self) -> str:
        failing = sum(row.answer in FAILING for row in self.rows)
        if failing:
            return f"{failing} of {len(self.rows)} answers speak against it"
        incomplete = "nothing speaks against it so far, but the answer is incomplete"
        if self.missing:
            return f"{incomplete}: {len(self.missing)} lists are missing"
        if self.unchecked:
            return f"{incomplete}: nothing is known of {', '.join(self.unchecked)}"
        return "nothing speaks against it"
