"""What `import` prints of container groups and of documents: configuration with verdicts, comments and commands, or the same as
JSON; no secret.
"""

import shlex
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.problems import Problem, as_data, errors
from azure_gpu.formats.body_reader import Left
from azure_gpu.formats.ml_yaml import Command
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.importing.blocks import Entry, block, comment_lines
from azure_gpu_operations.importing.container_groups import TakenGroup, Verdict
from azure_gpu_operations.importing.documents import TakenDocuments
from azure_gpu_operations.terminal import printable


def lines(
    file: str,
    as_of: date,
    taken: Sequence[TakenGroup],
    engine: Sequence[str],
    others: Sequence[Entry] = (),
    left: Sequence[Left] = (),
) -> Iterator[str]:
    """YAML for people: verdicts, the configuration, the commands for its secrets. `others`, `left`: of a template's other
    resources."""
    yield f"# {file}, judged at {as_of.isoformat()}"
    for one in taken:
        for verdict in one.judgement.verdicts:
            yield from comment_lines(_verdict(one, verdict, file))
    for one in left:
        yield from comment_lines(str(one))
    yield from configuration([*(entry for one in taken for entry in one.entries), *others], engine)


def ends(file: str, taken: Sequence[TakenGroup]) -> Iterator[str]:
    """What is gone, in a line for each container: for a file that is refused for something else, and would be for this then."""
    for one in taken:
        for verdict in one.judgement.verdicts:
            if verdict.status is Status.RETIRED:
                yield f"{file}:{verdict.line}: {_state(verdict)}" + (f" What to do: {verdict.text}." if verdict.text else "")


def _state(verdict: Verdict) -> str:
    until = f", sold until {verdict.end}" if verdict.end else ""
    return f"{verdict.container} has {verdict.gpus} {verdict.sku}: {verdict.status.value}{until}."


def data(
    file: str,
    as_of: date,
    taken: Sequence[TakenGroup],
    problems: Sequence[Problem],
    engine: Sequence[str],
    others: Sequence[Entry] = (),
    left: Sequence[Left] = (),
) -> dict[str, Any]:
    """The same for programs; where there are problems, what would have been taken without them."""
    refused = bool(errors(problems))
    entries = [*(entry for one in taken for entry in one.entries), *others]
    return {
        "file": file,
        "as_of": as_of.isoformat(),
        "taken": not refused,
        "groups": [_group(one) for one in taken],
        "entries": [entry._asdict() for entry in others],
        "left": [one._asdict() for one in left],
        "commands": [] if refused else commands(entries, engine),
        "problems": [as_data(problem) for problem in problems],
    }


def configuration(entries: Sequence[Entry], engine: Sequence[str]) -> Iterator[str]:
    """For people, with the commands that ask for what isn't copied."""
    yield block(entries).rstrip("\n")
    told = commands(entries, engine)
    if told:
        yield "# Secrets aren't copied. Each of these asks for one:"
        yield from (f"#   {command}" for command in told)


def commands(entries: Sequence[Entry], engine: Sequence[str]) -> list[str]:
    """A command for each secret. It has no value in it: `pulumi` asks for that. `engine` are options that name the stack."""
    keys = {entry.section: entry.key for entry in entries if entry.active and entry.secrets}
    return [
        shlex.join(["pulumi", "config", "set", "--secret", "--path", f"{keys[entry.section]}.{entry.name}.{secret}", *engine])
        for entry in entries
        if entry.active
        for secret in entry.secrets
    ]


def _group(one: TakenGroup) -> dict[str, Any]:
    return {
        "name": one.name,
        "group": one.group.name,
        "location": one.location or None,
        "line": one.group.line_of(""),
        "sold": one.judgement.runs,
        "gpus": [
            {**verdict._asdict(), "status": verdict.status.value, "instead": list(verdict.instead)}
            for verdict in one.judgement.verdicts
        ],
        "entries": [entry._asdict() for entry in one.entries],
        "prices": {name: job.price for name, job in one.jobs.items() if job.price},
        "left": [left._asdict() for left in one.left],
    }


def _verdict(taken: TakenGroup, verdict: Verdict, file: str) -> str:
    job = next((job for job in taken.jobs.values() if job.container == verdict.place), None)
    price = f" for {job.price}" if job and job.price else ""
    parts = [
        f"{file}:{verdict.line}: {_state(verdict)}",
        f"The job below has one {job.gpu}{price}." if job else "",
        f"What to do: {verdict.text}." if verdict.text else "",
        f"Source: {verdict.source}." if verdict.source else "",
    ]
    return " ".join(part for part in parts if part)


def document_lines(taken: TakenDocuments, as_of: date, problems: Sequence[Problem], engine: Sequence[str]) -> Iterator[str]:
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
        yield from (f"#   {printable(line)}" for line in shlex.join(_with_stack(command, engine)).split("\n"))


def document_data(taken: TakenDocuments, as_of: date, problems: Sequence[Problem], engine: Sequence[str]) -> dict[str, Any]:
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
