"""The mutation run: which small changes of the library no test notices.

`python -m tests.mutation` makes a hundred and more mutants, by a seed, and shows the CPU time of each and what killed it. It ends
with 1 where a mutant survives that `survivors.yaml` has no reason for, or where more than five of a hundred survive.
"""

import argparse
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import yaml

from tests.mutation.known import KNOWN
from tests.mutation.mutants import PACKAGES, Mutant, all_mutants, selected
from tests.mutation.running import Changed, Outcome, failing_without_mutant, run

SURVIVORS = Path(__file__).parent / "survivors.yaml"
MOST_OF_HUNDRED = 5


def reasons() -> dict[str, str]:
    """Why a mutant may survive, by its name."""
    return yaml.safe_load(SURVIVORS.read_text(encoding="utf-8")) or {}


def described(mutant: Changed) -> tuple[str, str, str]:
    """Where it is, of which kind, and its name."""
    if isinstance(mutant, Mutant):
        return mutant.where, mutant.kind, mutant.name
    return mutant.module, "known", getattr(mutant, "name", "")


def results(mutants: Sequence[Changed], jobs: int) -> list[tuple[Changed, Outcome]]:
    """Runs all and shows each as it ends."""
    found: list[tuple[Changed, Outcome]] = []
    for index, outcome in run(mutants, jobs):
        found.append((mutants[index], outcome))
        where, kind, name = described(mutants[index])
        how = f"killed by {outcome.killed_by}" if outcome.killed_by else "SURVIVED"
        print(f"{len(found):3} {outcome.cpu_seconds:5.1f} s  {where}  [{kind}]  {name}  {how}", flush=True)
    return found


def verdict(found: Sequence[tuple[Changed, Outcome]]) -> list[str]:
    """What is wrong with a run: empty where it passes."""
    known = reasons()
    survivors = [described(mutant) for mutant, outcome in found if not outcome.killed_by]
    problems = [f"{where} [{kind}] {name}: survived without a reason" for where, kind, name in survivors if name not in known]
    tests = sorted({outcome.killed_by for _, outcome in found if outcome.killed_by.startswith("tests/")})
    problems += [f"{test} fails without any mutant" for test in failing_without_mutant(tests)]
    if len(survivors) * 100 > MOST_OF_HUNDRED * len(found):
        problems.append(f"{len(survivors)} of {len(found)} survived, which is more than {MOST_OF_HUNDRED} of a hundred")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--number", type=int, default=120, help="how many mutants, beside the known ones")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--package", action="append", choices=PACKAGES, help="of these only")
    parser.add_argument("--only", default="", help="of those that are chosen: those whose name has this regular expression")
    given = parser.parse_args()
    began = time.monotonic()
    every = all_mutants(tuple(given.package or PACKAGES))
    chosen = [each for each in selected(every, given.number, given.seed) if re.search(given.only, each.name)]
    known = [each for each in KNOWN if not given.only and (not given.package or each.package in given.package)]
    found = results([*known, *chosen], given.jobs)
    problems = verdict(found)
    survived = Counter(described(mutant)[1] for mutant, outcome in found if not outcome.killed_by)
    took = f"{time.monotonic() - began:.0f} s"
    print(f"\n{len(found)} mutants of {len(every)} in {took}; {survived.total()} survived {dict(survived)}")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
