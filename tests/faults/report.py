"""The report of a campaign in a page of Markdown: what went wrong where, how often, and what was lost. Pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

HEADING = "## Last run"
_LONGEST = 700  # characters of what was lost


class Row(NamedTuple):
    """One thing that went wrong. `runs`: of the command that it hit, until it went through."""

    table: str
    what: str  # kind of fault, or who was killed: a column
    where: str  # a row
    type: str  # of the resource; "" where it is about none
    described: str
    runs: int
    lost: tuple[str, ...]


@dataclass(slots=True)
class Campaign:
    """A whole run."""

    seed: int
    day: date
    seconds: float = 0
    cores: int = 1
    rows: list[Row] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)  # what no request ran into, or came too late
    inputs: dict[str, int] = field(default_factory=dict)  # how many, by kind
    failed: list[str] = field(default_factory=list)  # inputs

    @property
    def lost(self) -> list[Row]:
        return [row for row in self.rows if row.lost]


def page(before: str, campaign: Campaign) -> str:
    """The page with this run in place of the last one. What isn't a run stays, and comes first."""
    text = re.split(rf"^(?={HEADING})", before, flags=re.MULTILINE)[0].strip() or "# Faults"
    return f"{text}\n\n{written(campaign)}"


def written(campaign: Campaign) -> str:
    minutes = campaign.seconds / 60
    lines = [
        HEADING,
        "",
        f"On {campaign.day.isoformat()}, seed {campaign.seed}, {minutes:.0f} minutes on {campaign.cores} cores: "
        f"{len(campaign.rows)} faults were met, {len(campaign.lost)} of them lost something; "
        f"{sum(campaign.inputs.values())} inputs, of which {len(campaign.failed)} failed.",
    ]
    for table in dict.fromkeys(row.table for row in campaign.rows):
        rows = [row for row in campaign.rows if row.table == table]
        lines += ["", f"### {table}", "", *_grid(rows), "", _again(rows)]
    typed = [row for row in campaign.rows if row.type]
    if typed:
        lines += ["", "### By type of resource", "", *_by_type(typed)]
    if campaign.inputs:
        lines += ["", "### Stack files", "", "| kind | files | failed |", "| --- | --- | --- |"]
        lines += [
            f"| {kind} | {number} | {sum(each.startswith(kind) for each in campaign.failed)} |"
            for kind, number in campaign.inputs.items()
        ]
    if campaign.lost or campaign.failed:
        lines += ["", "### Lost", ""]
        lines += [f"- {row.described}: {_short('; '.join(row.lost))}" for row in campaign.lost]
        lines += [f"- {each}" for each in campaign.failed]
    if campaign.missed:
        lines += ["", f"{len(campaign.missed)} more came too late, or no request ran into them, and count nowhere."]
    return "\n".join(lines) + "\n"


def _grid(rows: Sequence[Row]) -> list[str]:
    """Where by what: how often, and how often something was lost."""
    columns = list(dict.fromkeys(row.what for row in rows))
    found: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        found[row.where, row.what].append(row)
    lines = [f"| faults, lost | {' | '.join(columns)} | all |", f"| --- |{' --- |' * (len(columns) + 1)}"]
    for where in sorted({row.where for row in rows}):
        lines.append(
            f"| {where} | {' | '.join(_cell(found[where, what]) for what in columns)} | {_cell(_of(rows, where=where))} |"
        )
    lines.append(f"| all | {' | '.join(_cell(_of(rows, what=what)) for what in columns)} | {_cell(rows)} |")
    return lines


def _of(rows: Iterable[Row], *, where: str = "", what: str = "") -> list[Row]:
    return [row for row in rows if where in ("", row.where) and what in ("", row.what)]


def _cell(rows: Sequence[Row]) -> str:
    return f"{len(rows)}, {sum(bool(row.lost) for row in rows)}" if rows else ""


def _again(rows: Sequence[Row]) -> str:
    """How many needed no second run of the command, by kind."""
    once = Counter(row.what for row in rows if row.runs == 1)
    total = Counter(row.what for row in rows)
    return f"In lives where the command ran once: {', '.join(f'{what} {once[what]} of {total[what]}' for what in total)}."


def _by_type(rows: Sequence[Row]) -> list[str]:
    lines = ["| type | faults | survived | lost |", "| --- | --- | --- | --- |"]
    for each in sorted({row.type for row in rows}):
        mine = [row for row in rows if row.type == each]
        lost = sum(bool(row.lost) for row in mine)
        lines.append(f"| {each} | {len(mine)} | {len(mine) - lost} | {lost} |")
    return lines


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else f"{flat[:_LONGEST]}…"
