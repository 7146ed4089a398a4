"""The mutation run: which small changes of the library, of the embedded Azure and of the commands no test notices.

`python -m tests.mutation` makes mutants by a seed, 120 of the library and 60 of the other two, and shows the CPU time of each and
what killed it. It ends with 1 where one of the library survives that `survivors.yaml` has no reason for, or where more than five
of a hundred survive. `--table FILE` keeps what became of each. Before tests are rewritten, a table is made, and another one after
it with `--like` the first, which takes the same mutants; `--compare BEFORE AFTER` then lists every mutant that was noticed before
and isn't after, and ends with 1 if there is one. `noticed.tsv` is such a table, of a407dcc5, and
`noticed_after.tsv` that of the same mutants when last compared, on 2026-11-30.
"""

import argparse
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import yaml

from tests.mutation.known import KNOWN
from tests.mutation.mutants import PACKAGES, ROOMS, ROOT, SHARES_OF_ROOMS, Mutant, all_mutants, selected
from tests.mutation.running import Changed, Outcome, failing_in_tree, failing_without_mutant, run, run_in_tree
from tests.mutation.tables import GONE, Row, compared, read, written

SURVIVORS = Path(__file__).parent / "survivors.yaml"
MOST_OF_HUNDRED = 5


def reasons() -> dict[str, str]:
    """Why a mutant may survive, by its name."""
    return yaml.safe_load(SURVIVORS.read_text(encoding="utf-8")) or {}


def row(mutant: Changed, outcome: Outcome) -> Row:
    if isinstance(mutant, Mutant):
        return Row(mutant.name, mutant.kind, mutant.where, outcome.killed_by, outcome.cpu_seconds)
    return Row(getattr(mutant, "name", ""), "known", mutant.module, outcome.killed_by, outcome.cpu_seconds)


def results(
    mutants: Sequence[Changed], outcomes: Iterable[tuple[int, Outcome]], keep: Callable[[list[Row]], None]
) -> list[tuple[Changed, Outcome]]:
    """Shows each as it ends. `keep` gets all rows each time, so that a run that is interrupted leaves what it found."""
    found: list[tuple[Changed, Outcome]] = []
    for index, outcome in outcomes:
        found.append((mutants[index], outcome))
        shown = row(mutants[index], outcome)
        how = f"killed by {shown.killed_by}" if shown.killed_by else "SURVIVED"
        print(f"{len(found):3} {shown.cpu_seconds:5.1f} s  {shown.where}  [{shown.kind}]  {shown.name}  {how}", flush=True)
        keep([row(*each) for each in found])
    return found


def killing_tests(found: Sequence[tuple[Changed, Outcome]]) -> list[str]:
    return sorted({outcome.killed_by for _, outcome in found if outcome.killed_by.startswith("tests/")})


def verdict(found: Sequence[tuple[Changed, Outcome]], failing: Sequence[str] = ()) -> list[str]:
    """What is wrong with a run of which these killing tests fail without any mutant too: empty where it passes."""
    known = reasons()
    problems = [f"{test} fails without any mutant" for test in failing]
    judged = [row(*each) for each in found if each[0].package not in ROOMS]
    survivors = [each for each in judged if not each.killed_by]
    problems += [
        f"{each.where} [{each.kind}] {each.name}: survived without a reason" for each in survivors if each.name not in known
    ]
    if len(survivors) * 100 > MOST_OF_HUNDRED * len(judged):
        problems.append(f"{len(survivors)} of {len(judged)} survived, which is more than {MOST_OF_HUNDRED} of a hundred")
    return problems


def chosen(packages: Sequence[str], number: int, of_rooms: int, seed: int, root: Path) -> list[Changed]:
    """By the seed, so many of the library with all known ones, and so many of the rooms, as many of each."""
    library = [each for each in packages if each in PACKAGES]
    rooms = [each for each in packages if each in ROOMS]
    found: list[Changed] = [each for each in KNOWN if each.package in library]
    found += selected(all_mutants(library, root), number, seed)
    for room in rooms:
        found += selected(all_mutants((room,), root), of_rooms // len(rooms), seed, SHARES_OF_ROOMS)
    return found


def named(rows: Sequence[Row], root: Path) -> tuple[list[Changed], list[Row]]:
    """The mutants of a table, and the rows of those that aren't in the program any more."""
    every: dict[str, Changed] = {each.name: each for each in reversed([*KNOWN, *all_mutants((*PACKAGES, *ROOMS), root)])}
    rows = [each for each in rows if each.outcome != GONE]
    return [every[each.name] for each in rows if each.name in every], [
        each._replace(killed_by=GONE, cpu_seconds=0.0) for each in rows if each.name not in every
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--number", type=int, default=120, help="how many mutants of the library, beside the known ones")
    parser.add_argument("--of-rooms", type=int, default=60, help="how many of localazure and operations")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--package", action="append", choices=(*PACKAGES, *ROOMS), help="of these only")
    parser.add_argument("--only", default="", help="of those that are chosen: those whose name has this regular expression")
    parser.add_argument("--like", type=Path, metavar="TABLE", help="the mutants of this table, in place of a choice")
    parser.add_argument("--table", type=Path, help="write what became of each into this file")
    parser.add_argument(
        "--tree", type=Path, help="change the files of this checkout and run its tests there; of localazure and operations only"
    )
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("BEFORE", "AFTER"), help="compare two tables, and run nothing")
    given = parser.parse_args()
    if given.compare:
        lost, missing = compared(*(read(each) for each in given.compare))
        print(
            "\n".join(
                [
                    *(f"not noticed any more: {each}" for each in lost),
                    *(f"not in the program any more: {each}" for each in missing),
                ]
            )
        )
        return 1 if lost else 0
    began = time.monotonic()
    root = given.tree.resolve() if given.tree else ROOT
    packages = [each for each in given.package or (*PACKAGES, *ROOMS) if not given.tree or each in ROOMS]
    gone: list[Row] = []
    if given.like:
        mutants, gone = named(read(given.like), root)
    else:
        mutants = chosen(packages, given.number, given.of_rooms, given.seed, root)
    mutants = [each for each in mutants if re.search(given.only, row(each, Outcome(killed_by="", cpu_seconds=0)).name)]

    def keep(rows: list[Row]) -> None:
        if given.table:
            written(given.table, [*rows, *gone])

    if given.tree:
        on_disk = [each for each in mutants if isinstance(each, Mutant)]
        found = results(on_disk, run_in_tree(on_disk, root), keep)
        failing = failing_in_tree(killing_tests(found), root)
    else:
        found = results(mutants, run(mutants, given.jobs), keep)
        failing = failing_without_mutant(killing_tests(found))
    survived = Counter(mutant.package for mutant, outcome in found if not outcome.killed_by)
    took = f"{time.monotonic() - began:.0f} s, {sum(outcome.cpu_seconds for _, outcome in found):.0f} CPU s"
    problems = verdict(found, failing)
    print(f"\n{len(found)} mutants in {took}; {survived.total()} survived {dict(survived)}")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
