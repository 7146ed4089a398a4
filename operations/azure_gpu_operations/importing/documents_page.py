"""What `import` prints of documents: configuration with comments for people, the same as data for programs; no secret."""

import shlex
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from azure_gpu.catalog.problems import Problem, as_data, errors
from azure_gpu.formats.ml_yaml import Command
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.importing.blocks import comment_lines
from azure_gpu_operations.importing.documents import TakenDocuments
from azure_gpu_operations.importing.page import commands, configuration
from azure_gpu_operations.terminal import printable


def lines(taken: TakenDocuments, as_of: date, problems: Sequence[Problem], engine: Sequence[str]) -> Iterator[str]:
    """YAML, with a comment for everything that isn't in it."""
    yield f"# {taken.file}, judged at {as_of.isoformat()}"
    for left in taken.left:
        yield from comment_lines(str(left))
    for problem in errors(problems):
        yield from comment_lines(f"not taken, {problem}")
    if taken.entries:
        yield from configuration(taken.entries, engine)
    for command in taken.commands:
        yield ""
        for note in command.notes:
            yield from comment_lines(note)
        yield f"#   {printable(shlex.join(_with_stack(command, engine)))}"


def data(taken: TakenDocuments, as_of: date, problems: Sequence[Problem], engine: Sequence[str]) -> dict[str, Any]:
    config: dict[str, Any] = {}
    for entry in taken.entries:
        if entry.active and entry.name:
            config.setdefault(entry.section, {})[entry.name] = entry.settings
        elif entry.active:
            config[entry.section] = entry.settings
    return {
        "file": taken.file,
        "as_of": as_of.isoformat(),
        "taken": not taken.is_empty,
        "config": config,
        "secrets": taken.secrets,
        "entries": [entry._asdict() for entry in taken.entries],
        "left": [left._asdict() for left in taken.left],
        "runs": [{"command": list(_with_stack(one, engine)), "notes": list(one.notes)} for one in taken.commands],
        "commands": commands(taken.entries, engine),
        "problems": [as_data(problem) for problem in problems],
    }


def _with_stack(command: Command, engine: Sequence[str]) -> tuple[str, ...]:
    stack = engine[1] if len(engine) > 1 else "STACK"
    return tuple(stack if word == "STACK" else word for word in (*COMMAND.split(), "run", *command.words))
