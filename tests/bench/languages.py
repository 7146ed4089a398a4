"""How long `pulumi preview` of one stack takes as a program in YAML, next to the same in Python: the two of examples/languages.

Both alternate, and what each needs is installed before; a first preview, which finds cold caches, isn't counted.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bench.previews import Times
from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.languages import Project, copied_example, environment
from tests.support.readme_commands import copied


@dataclass(frozen=True, slots=True)
class Languages:
    """Seconds of each preview."""

    python: tuple[float, ...]
    yaml: tuple[float, ...]

    @property
    def ratio(self) -> float:
        return Times(self.yaml).median / Times(self.python).median


def measure(azure: ServedAzure, engine_bin: Path, rounds: int, say: Callable[[str], None]) -> Languages:
    """Previews of a stack that isn't up."""
    asked = [sys.executable, "engine/build.py", "languages"]
    built = subprocess.run(asked, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
    variables = environment(azure, (Path(built.stdout.strip()), engine_bin))
    checkout = copied(azure.state / "bench-languages", installed=False)
    projects = {name: Project(copied_example(checkout, name), azure, variables) for name in ("python", "yaml")}
    seconds: dict[str, list[float]] = {name: [] for name in projects}
    for project in projects.values():
        project.configure(team="vision", lastDay="2099-03-31")
        project.install()
        project.well("preview")
    for number in range(rounds):
        for name, project in projects.items():
            began = time.monotonic()
            project.well("preview")
            seconds[name].append(time.monotonic() - began)
            say(f"round {number + 1} of {rounds}: preview in {name}: {seconds[name][-1]:.2f} s")
    return Languages(tuple(seconds["python"]), tuple(seconds["yaml"]))
