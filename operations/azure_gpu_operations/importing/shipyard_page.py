"""What `import` prints of a Batch Shipyard configuration: configuration with comments, or the same as JSON; no secret."""

import shlex
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem, as_data, errors
from azure_gpu.formats.left import Left
from azure_gpu.formats.shipyard.jobs import JobSettings
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.importing.blocks import Entry, comment_lines
from azure_gpu_operations.importing.page import commands, configuration


class TakenJob(NamedTuple):
    """One job, and where its file of tasks is or would be."""

    job: JobSettings
    file: Path
    text: str


class TakenShipyard(NamedTuple):
    """All of it."""

    folder: str
    pool: str  # what the stack file calls it; "" where the files have no pool
    replaced: bool  # with successors of what is gone
    entries: list[Entry]
    jobs: list[TakenJob]
    left: list[Left]  # placeholders, of any of its files


def lines(taken: TakenShipyard, as_of: date, engine: Sequence[str], written: bool) -> Iterator[str]:
    """YAML for people, and what to do with the jobs."""
    yield f"# {taken.folder}, judged at {as_of.isoformat()}"
    for left in taken.left:
        yield from comment_lines(str(left))
    if taken.entries:
        yield from configuration(taken.entries, engine)
    for one in taken.jobs:
        yield from _job(taken, one, engine, written)


def _job(taken: TakenShipyard, one: TakenJob, engine: Sequence[str], written: bool) -> Iterator[str]:
    count = len(one.job.content.get("tasks", []))
    yield ""
    for left in one.job.left:
        yield from comment_lines(str(left))
    if not count:
        yield f"# The job {one.job.name} has no task that can be taken."
        return
    what = f"The job {one.job.name} has {count} {'task' if count == 1 else 'tasks'}"
    if not written:
        yield f"# {what}; --tasks FOLDER writes them to FOLDER/{one.file.name}."
        return
    yield f"# {what}, in {one.file}. To run it:"
    yield f"#   {shlex.join(run_command(taken, one, engine))}"


def run_command(taken: TakenShipyard, one: TakenJob, engine: Sequence[str]) -> list[str]:
    """The command that runs a job's tasks on the pool."""
    pool = ["--pool", taken.pool] if taken.pool else []
    stack = engine[1] if len(engine) > 1 else "STACK"
    return [*COMMAND.split(), "run", "--on", "batch", *pool, "--tasks", str(one.file), "--stack", stack]


def data(taken: TakenShipyard, as_of: date, problems: Sequence[Problem], engine: Sequence[str]) -> dict[str, Any]:
    """The same for programs; where there are problems, what would have been taken without them."""
    refused = bool(errors(problems))
    return {
        "file": taken.folder,
        "as_of": as_of.isoformat(),
        "taken": not refused,
        "pool": taken.pool or None,
        "replaced": taken.replaced,
        "entries": [entry._asdict() for entry in taken.entries],
        "left": [left._asdict() for left in taken.left],
        "jobs": [
            {
                "name": one.job.name,
                "file": str(one.file),
                "tasks": one.job.content,
                "left": [left._asdict() for left in one.job.left],
                "command": run_command(taken, one, engine),
            }
            for one in taken.jobs
        ],
        "commands": [] if refused else commands(taken.entries, engine),
        "problems": [as_data(problem) for problem in problems],
    }
