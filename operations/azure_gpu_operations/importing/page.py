"""What `import` prints of container groups: configuration with verdicts and commands, or the same as JSON; no secret."""

import shlex
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.problems import Problem, as_data, errors
from azure_gpu.formats.left import Left
from azure_gpu_operations.importing.blocks import Entry, block, comment_lines
from azure_gpu_operations.importing.container_groups import TakenGroup
from azure_gpu_operations.importing.judging import Verdict


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
