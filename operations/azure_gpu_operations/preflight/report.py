"""The result of a preflight as text, as JSON and as an exit code."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from rich.console import Console
from rich.text import Text

from azure_gpu_operations.preflight.rows import FAILING, Answer, Row
from azure_gpu_operations.tables import Heading, of_rows, print_table, width_of

PROBLEMS = 1
INCOMPLETE = 3
_IN_TABLE = (Answer.OK, Answer.NO_CAPACITY_KNOWN)  # nothing to do about these
_HEADINGS = (Heading("check"), Heading("result", wraps=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`missing`: why a list couldn't be read, by its name; `seconds`: how long each list took."""

    as_of: date
    rows: tuple[Row, ...]
    missing: Mapping[str, str] = field(default_factory=dict[str, str])
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    subscription: str = ""  # id; "" offline
    regions: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        if any(row.answer in FAILING for row in self.rows):
            return PROBLEMS
        return INCOMPLETE if self.missing or self.unchecked else 0

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Subjects of which every answer is unknown, such as a misspelt size without a list of Azure."""
        known = {row.subject for row in self.rows if row.answer is not Answer.UNKNOWN}
        return tuple(dict.fromkeys(row.subject for row in self.rows if row.subject not in known))

    def as_json(self) -> dict[str, Any]:
        return {
            "as_of": self.as_of.isoformat(),
            "rows": [row._asdict() for row in self.rows],
            "missing": dict(self.missing),
            "seconds": {name: round(seconds, 3) for name, seconds in self.seconds.items()},
            "exit_code": self.exit_code,
        }

    def show(self, console: Console, *, wide: bool = False) -> None:
        """Failed checks, then warnings and unknown answers, then what passed; last what was checked, and the conclusion."""
        width = width_of(console, wide)
        for row in sorted(self.rows, key=lambda row: row.answer not in FAILING):
            if row.answer not in _IN_TABLE:
                style = "red" if row.answer in FAILING else "yellow"
                console.print(Text.assemble(f"{row.subject}: {row.check}: ", (row.answer, style)), soft_wrap=True)
                for text in (row.message, row.fix and f"fix: {row.fix}", row.source and f"source: {row.source}"):
                    _print(console, text, width, "  ")
                console.print()
        if rest := list(_joined(row for row in self.rows if row.answer in _IN_TABLE)):
            print_table(console, of_rows(_HEADINGS, rest), wide=wide)
        for name, reason in self.missing.items():
            _print(console, f"missing: {name}: {reason}", width)
        if rest or self.missing:
            console.print()
        _print(console, self._scope(), width)
        _print(console, self._conclusion(), width, style=("green", "red", "", "yellow")[self.exit_code])

    def _scope(self) -> str:
        regions = f" in {', '.join(self.regions)}" if self.regions else ""
        checked = f"checked as of {self.as_of.isoformat()}{regions}: the catalog"
        if not self.subscription:
            return f"{checked} only; registrations, rights, offers, quotas and names of a subscription weren't read"
        suffix = f" in {self.regions[0]}" if len(self.regions) == 1 else ""
        read = [name.removesuffix(suffix) for name in self.seconds if name not in self.missing]
        return f"{checked} and {_lists(len(read))} of subscription {self.subscription}" + (f": {', '.join(read)}" if read else "")

    def _conclusion(self) -> str:
        failing = sum(row.answer in FAILING for row in self.rows)
        if failing:
            return f"{failing} of {len(self.rows)} checks failed"
        incomplete = "no problems found so far, but the result is incomplete"
        if self.missing:
            return f"{incomplete}: {_lists(len(self.missing))} couldn't be read"
        if self.unchecked:
            return f"{incomplete}: unknown: {', '.join(self.unchecked)}"
        return "no problems found"


def _lists(count: int) -> str:
    return "1 list" if count == 1 else f"{count} lists"


def _joined(rows: Iterable[Row]) -> Iterator[tuple[str, str]]:
    """Checks with the same result on one line: `registered: Microsoft.App, Microsoft.Batch`."""
    subjects: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        subjects.setdefault(row.check, {}).setdefault(row.message, []).append(row.subject)
    for check, by_message in subjects.items():
        for number, (message, of_both) in enumerate(by_message.items()):
            yield "" if number else check, f"{message}: {', '.join(dict.fromkeys(of_both))}"


def _print(console: Console, text: str, width: int | None, indent: str = "", style: str = "") -> None:
    lines = textwrap.wrap(text, width - len(indent), break_long_words=False, break_on_hyphens=False) if width else [text]
    for line in filter(None, lines):
        console.print(Text(f"{indent}{line}", style), soft_wrap=True)
