"""Records states again: `python -m tests.upgrades.record [--renew] [NAME...]`.

Without names: all of them. What no Azure is needed for is brought up and compared with its record; every difference is shown, and
the command ends with 1 if there is one. `--renew` writes the records; those of the embedded Azure (`embedded.<stack>`), whose ids
are others each time, are brought up for that alone. A commit that renews a record says why a stack that is up may change.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.components.recorded_bodies import differences
from tests.support.embedded import CHECKOUT, ServedAzure
from tests.upgrades import bringing_up, records


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.upgrades.record", description=__doc__)
    parser.add_argument("--renew", action="store_true", help="write the records again")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"such as {records.names()[0]}")
    asked = parser.parse_args()
    unknown = set(asked.names) - set(records.names())
    if unknown:
        parser.error(f"no such state: {', '.join(sorted(unknown))}; there are {', '.join(records.names())}")
    wanted = asked.names or records.names()
    engine_bin = _engine_bin()
    different = False
    for name in [each for each in records.offline() if each in wanted]:
        with _folder() as folder:
            after = bringing_up.offline(name, folder, engine_bin)
        before = records.load(name) if records.exists(name) else {}
        lines = list(differences(before, after))
        different = different or bool(lines)
        print("\n".join([f"{name}:", *lines]) if lines else f"{name}: as recorded", flush=True)
        if asked.renew:
            records.save(name, after)
    of_azure = [each for each in records.embedded() if each in wanted]
    if of_azure and asked.renew:
        _renew_embedded(of_azure, engine_bin)
    elif of_azure:
        print(f"{', '.join(of_azure)}: recorded with --renew alone")
    return 1 if different and not asked.renew else 0


def _renew_embedded(names: list[str], engine_bin: Path) -> None:
    with _folder() as state:
        azure = ServedAzure(state)
        try:
            for name in names:
                with _folder() as folder:
                    records.save(name, bringing_up.embedded(name, azure, folder, engine_bin))
                print(f"{name}: recorded", flush=True)
        finally:
            azure.stop()


def _engine_bin() -> Path:
    done = subprocess.run([sys.executable, "engine/build.py"], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.strip())


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as text:
        yield Path(text)


if __name__ == "__main__":
    sys.exit(main())
