"""The report of a run: what was asked of which Azure, and what differed from the embedded one. Pure."""

from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

from tests.conformance.differences import Difference

_LONGEST = 160  # characters of a cell


class Outcome(NamedTuple):
    """One level of a run."""

    level: str
    done: str  # what was asked, in words
    differences: tuple[Difference, ...]
    notes: tuple[str, ...] = ()


def page(outcomes: Sequence[Outcome], azure: str, day: date, region: str, versions: Iterable[tuple[str, str]]) -> str:
    """A page of Markdown."""
    lines = [
        "# Conformance",
        "",
        f"Written by `make conformance` on {day.isoformat()} against {azure}, region {region}.",
        "",
        "| version of | is |",
        "| --- | --- |",
        *(f"| {name} | {version} |" for name, version in versions),
    ]
    for each in outcomes:
        count = len(each.differences)
        lines += ["", f"## {each.level}", "", f"{each.done} {'No difference.' if not count else f'{counted(count)}:'}"]
        if count:
            lines += ["", "| of | request | what | the embedded Azure | answered |", "| --- | --- | --- | --- | --- |"]
            lines += [f"| {' | '.join(_cell(part) for part in _columns(difference))} |" for difference in each.differences]
        lines += ["", *(f"- {note}" for note in each.notes)] if each.notes else []
    return "\n".join(lines) + "\n"


def counted(differences: int) -> str:
    return "1 difference" if differences == 1 else f"{differences or 'no'} differences"


def _columns(difference: Difference) -> tuple[str, ...]:
    return (difference.what, difference.request, difference.kind, difference.expected, difference.found)


def _cell(text: str) -> str:
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return short.replace("|", "\\|").replace("\n", " ")
