"""Writes again what is generated from the program for tests, and prints what changed: `make renew`.

All recorded bodies are. On the real engine, the replacement table's rows of arguments that are new are tried, and the states of
cases that have none recorded. Rows and states of what is gone are removed.

A recorded state stays, as it stands for a stack that is up: `python -m tests.upgrades.record` says how to record it again.
`python -m tests.replacements.renew` tries all arguments.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.components import recorded_bodies
from tests.operations import sent_bodies
from tests.replacements import renew as replacement_rows, table
from tests.replacements.changes import arguments
from tests.support.embedded import CHECKOUT
from tests.upgrades import bringing_up, records


def main() -> int:
    bodies()
    sent_bodies.write()
    remove_what_is_gone()
    rows = [each for each in arguments() if each not in {row.argument for row in table.rows()}]
    states = [name for name in records.offline() if not records.exists(name)]
    if not rows and not states:
        return 0
    engine = subprocess.run([sys.executable, "engine/build.py"], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=False)
    if engine.returncode != 0:
        print(f"left out without the Pulumi engine: {', '.join([*rows, *states])}", file=sys.stderr)
        return 1
    engine_bin = Path(engine.stdout.strip())
    if rows:
        new = replacement_rows.rows_of(rows, engine_bin)
        print("\n".join(replacement_rows.differences(new)), flush=True)
        replacement_rows.put(new)
    for name in states:
        with tempfile.TemporaryDirectory() as folder:
            records.save(name, bringing_up.offline(name, Path(folder), engine_bin))
        print(f"{name}: its state is recorded", flush=True)
    return 0


def bodies() -> None:
    after = {name: recorded_bodies.now(name) for name in recorded_bodies.names()}
    for line in recorded_bodies.changes(recorded_bodies.recorded(), after):
        print(line)
    recorded_bodies.write(after)


def remove_what_is_gone() -> None:
    known = set(arguments())
    for row in table.rows():
        if row.argument not in known:
            print(f"{row.argument}: gone")
    replacement_rows.put(())
    for path in records.FOLDER.glob("*.json.gz"):
        name = path.name.removesuffix(".json.gz")
        if name not in records.names():
            print(f"{name}: its state goes")
            path.unlink()


if __name__ == "__main__":
    sys.exit(main())
