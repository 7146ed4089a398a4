"""Makes the replacement table again: `python -m tests.replacements.renew [--renew] [PATTERN...]`.

Each argument is changed in small stacks, and the real engine plans every change. Without patterns, all arguments: about half an
hour on two cores. A pattern, such as `pools.*`, takes those that fit. Every difference from the table is shown, and the command
ends with 1 if there is one; `--renew` writes the rows, some at a time, and `make renew` the page.
"""

import argparse
import fnmatch
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.replacements import table, tried
from tests.replacements.changes import Change, arguments, changes_of, further_changes_of
from tests.replacements.engine import Outcome
from tests.replacements.table import Effect, Row, cells
from tests.support.embedded import CHECKOUT

ARGUMENTS_AT_ONCE = 40


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.replacements.renew", description=__doc__)
    parser.add_argument("--renew", action="store_true", help="write the rows again")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="such as 'pools.*'; default: every argument")
    asked = parser.parse_args()
    wanted = fitting(asked.patterns)
    if not wanted:
        parser.error(f"no argument fits {', '.join(asked.patterns)}; there are such as {next(iter(arguments()))}")
    engine_bin = _engine_bin()
    different = False
    for start in range(0, len(wanted), ARGUMENTS_AT_ONCE):
        began, some = time.monotonic(), wanted[start : start + ARGUMENTS_AT_ONCE]
        after = rows_of(some, engine_bin)
        lines = list(differences(after))
        different = different or bool(lines)
        print("\n".join([*lines, f"{some[0]} to {some[-1]}: {time.monotonic() - began:.0f} s"]), flush=True)
        if asked.renew:
            put(after)
    return 1 if different and not asked.renew else 0


def fitting(patterns: Sequence[str]) -> list[str]:
    """The arguments that fit one of the patterns, all without any."""
    return [each for each in arguments() if not patterns or any(fnmatch.fnmatchcase(each, pattern) for pattern in patterns)]


def rows_of(some: Sequence[str], engine_bin: Path) -> list[Row]:
    """The rows of arguments, tried now. An argument whose changes do nothing is changed in more places."""
    found: dict[str, list[tuple[Change, Outcome]]] = defaultdict(list)
    _try([change for argument in some for change in changes_of(argument)], engine_bin, found)
    idle = [each for each in some if tried.row(each, found[each]).effect in (Effect.NOTHING, Effect.REFUSED)]
    _try([change for argument in idle for change in further_changes_of(argument)], engine_bin, found)
    return [tried.row(argument, found[argument]) for argument in some]


def _try(changes: Sequence[Change], engine_bin: Path, found: dict[str, list[tuple[Change, Outcome]]]) -> None:
    for change, outcome in zip(changes, tried.outcomes_of(changes, engine_bin), strict=True):
        found[change.argument].append((change, outcome))


def differences(after: Iterable[Row]) -> list[str]:
    """A line for each row that isn't as in the table."""
    before = {row.argument: cells(row) for row in table.rows()}
    return [_line(row, before.get(row.argument)) for row in after if before.get(row.argument) != cells(row)]


def _line(row: Row, before: dict[str, str] | None) -> str:
    now = cells(row)
    changed = [
        f"{key}: {(before or {}).get(key, '')!r} is now {value!r}"
        for key, value in now.items()
        if (before or {}).get(key) != value
    ]
    return f"{row.argument}: {'; '.join(changed)}" if before else f"{row.argument}: new, {row.effect}"


def put(after: Iterable[Row]) -> None:
    """Writes rows over those of the same arguments; rows of arguments that are gone go."""
    table.rows.cache_clear()  # another run may have written others
    every = {row.argument: row for row in (*table.rows(), *after)}
    table.write(every[argument] for argument in arguments() if argument in every)


def _engine_bin() -> Path:
    done = subprocess.run([sys.executable, "engine/build.py"], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.strip())


if __name__ == "__main__":
    sys.exit(main())
