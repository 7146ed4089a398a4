"""The report of a run in a page of Markdown: what was asked of which Azure, and what differed from the embedded one. Pure."""

import re
from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

from tests.conformance.differences import Difference

_HEADING = "## Last run of "
_LONGEST = 160  # characters of a cell


class Outcome(NamedTuple):
    """One level of a run."""

    level: str
    done: str  # what was asked, in words
    differences: tuple[Difference, ...]
    notes: tuple[str, ...] = ()


def with_run(page: str, outcome: Outcome, azure: str, day: date, region: str, versions: Iterable[tuple[str, str]]) -> str:
    """The page with this run in place of the last one of its level. What isn't a run stays, and comes first."""
    text, *runs = re.split(rf"^(?={_HEADING})", page, flags=re.MULTILINE)
    count = len(outcome.differences)
    shown = ", ".join(f"{name} {version}" for name, version in versions)
    lines = [
        f"{_HEADING}`{outcome.level}`",
        "",
        f"On {day.isoformat()} against {azure}, region {region}, with {shown}.",
        f"{outcome.done} {'No difference.' if not count else f'{counted(count)}:'}",
    ]
    if count:
        lines += ["", "| of | request | what | the embedded Azure | answered |", "| --- | --- | --- | --- | --- |"]
        lines += [f"| {' | '.join(map(_cell, difference))} |" for difference in outcome.differences]
    lines += ["", *(f"- {note}" for note in outcome.notes)] if outcome.notes else []
    others = [each for each in runs if each.partition("\n")[0] != lines[0]]
    return "\n\n".join([*(each.strip() for each in (text or "# Conformance", *others)), "\n".join(lines)]) + "\n"


def counted(differences: int) -> str:
    return "1 difference" if differences == 1 else f"{differences or 'no'} differences"


def _cell(text: str) -> str:
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return short.replace("|", "\\|").replace("\n", " ")
