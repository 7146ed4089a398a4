"""What `import` prints of a project for a retired client of Azure Machine Learning; no secret."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem, as_data, errors
from azure_gpu.formats.old_machine_learning.project import OldProject, Packages
from azure_gpu_operations.importing.blocks import Entry, comment_lines
from azure_gpu_operations.importing.old_machines import RunToday, quoted
from azure_gpu_operations.importing.page import commands, configuration
from azure_gpu_operations.terminal import printable

# What a package of those years is called today; None: nothing takes its place.
_TODAY = {
    "python": None,
    "pip": None,
    "tensorflow-gpu": "tensorflow[and-cuda]==2.21.0",
    "tensorflow": "tensorflow[and-cuda]==2.21.0",
    "cntk": None,
    "azureml-core": None,
    "azureml-contrib-services": None,
    "azureml-defaults": None,
    "azureml-sdk": None,
}


class TakenProject(NamedTuple):
    """All of it."""

    file: str
    found: OldProject
    entries: list[Entry]
    runs: list[RunToday]


def lines(taken: TakenProject, as_of: date, engine: Sequence[str]) -> Iterator[str]:
    """YAML for people, and how scripts run."""
    yield f"# {taken.file}, judged at {as_of.isoformat()}"
    if taken.entries:
        yield from configuration(taken.entries, engine)
    for packages in taken.found.packages:
        if not requirements(packages):
            continue
        yield ""
        yield from comment_lines(f"{packages.file}: what it asks for, as requirements.txt. Versions of those years are left out.")
        yield from (f"#   {printable(one)}" for one in requirements(packages))
    for run in taken.runs:
        yield ""
        for note in run.notes:
            yield from comment_lines(note)
        yield f"#   {printable(quoted(_with_stack(run, engine)))}"


def requirements(packages: Packages) -> list[str]:
    """One line for each package that there still is, each once."""
    names = [_TODAY.get(package.name, package.name) for package in packages.conda.packages if package.name]
    return list(dict.fromkeys(name for name in names if name))


def data(taken: TakenProject, as_of: date, problems: Sequence[Problem], engine: Sequence[str]) -> dict[str, Any]:
    """The same for programs; where there are problems, what would have been taken without them."""
    refused = bool(errors(problems))
    return {
        "file": taken.file,
        "as_of": as_of.isoformat(),
        "taken": not refused,
        "entries": [entry._asdict() for entry in taken.entries],
        "runs": [{"command": list(_with_stack(run, engine)), "notes": list(run.notes)} for run in taken.runs],
        "requirements": {packages.file: requirements(packages) for packages in taken.found.packages},
        "commands": [] if refused else commands(taken.entries, engine),
        "problems": [as_data(problem) for problem in problems],
    }


def _with_stack(run: RunToday, engine: Sequence[str]) -> tuple[str, ...]:
    stack = engine[1] if len(engine) > 1 else "STACK"
    return tuple(stack if word == "STACK" else word for word in run.words)
