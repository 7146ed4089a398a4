"""How long `pulumi preview` of one stack takes as a program in YAML, next to the same in Python: the two of examples/languages.

Both alternate, and what each needs is installed before; a first preview, which finds cold caches, isn't counted.
"""

import statistics
import time
from pathlib import Path

from tests.bench import previews
from tests.bench.results import Bench, Limit, spread
from tests.support.embedded import ServedAzure
from tests.support.languages import Project, copied_example, environment
from tests.support.readme_commands import copied

YAML_TO_PYTHON = Limit("at most", 1.3)


def measure(bench: Bench, azure: ServedAzure, engine_bin: Path, rounds: int) -> None:
    """Previews of a stack that isn't up."""
    variables = environment(azure, (previews.built("languages"), engine_bin))
    checkout = copied(azure.state / "bench-languages", installed=False)
    projects = {name: Project(copied_example(checkout, name), azure, variables) for name in ("python", "yaml")}
    seconds: dict[str, list[float]] = {name: [] for name in projects}
    for project in projects.values():
        project.configure(team="vision", lastDay="2099-03-31")
        project.install()
        project.well("preview")
    for _ in range(rounds):
        for name, project in projects.items():
            began = time.monotonic()
            project.well("preview")
            seconds[name].append(time.monotonic() - began)
    bench.figures["languages"] = seconds
    bench.say(f"preview of one stack in s, program in Python: {spread(seconds['python'])}; in YAML: {spread(seconds['yaml'])}")
    ratio = statistics.median(seconds["yaml"]) / statistics.median(seconds["python"])
    bench.hold("preview of a program in YAML to one in Python", YAML_TO_PYTHON, ratio)
