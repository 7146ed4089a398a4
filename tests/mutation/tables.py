"""Tables of mutation runs: what became of each mutant, and which were noticed in one run and not in a later one."""

import csv
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

SURVIVED, GONE = "SURVIVED", "GONE"
COLUMNS = ("name", "kind", "where", "killed by", "CPU seconds")


class Row(NamedTuple):
    """One mutant. `killed_by` is empty where it survived, and GONE where the program has no such place any more."""

    name: str
    kind: str
    where: str
    killed_by: str
    cpu_seconds: float

    @property
    def outcome(self) -> str:
        return self.killed_by or SURVIVED


def written(path: Path, rows: Iterable[Row]) -> None:
    """Writes the table, each mutant as it is found again: in the order of names."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, delimiter="\t", lineterminator="\n")
        table.writerow(COLUMNS)
        for each in sorted(rows):
            table.writerow((each.name, each.kind, each.where, each.outcome, f"{each.cpu_seconds:.1f}"))


def read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as stream:
        _, *lines = csv.reader(stream, delimiter="\t")
    return [
        Row(name, kind, where, "" if outcome == SURVIVED else outcome, float(seconds))
        for name, kind, where, outcome, seconds in lines
    ]


def compared(before: Iterable[Row], after: Iterable[Row]) -> tuple[list[str], list[str]]:
    """The mutants that were noticed before and aren't after, those that weren't run among them, and those that are gone."""
    outcomes: defaultdict[str, set[str]] = defaultdict(set)
    for each in after:
        outcomes[each.name].add(each.outcome)
    noticed = [each for each in before if each.outcome not in (SURVIVED, GONE)]
    lost = [f"{each.name} ({each.killed_by})" for each in noticed if SURVIVED in outcomes.get(each.name, {SURVIVED})]
    gone = [each.name for each in noticed if outcomes.get(each.name) == {GONE}]
    return lost, gone
