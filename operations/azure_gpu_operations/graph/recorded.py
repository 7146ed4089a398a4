"""Records the resources that a stack's program declares, in a separate process: one for all files of a stack.

WrongStackError has every problem of the stack file; ProgramError means that the program itself failed.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from azure_gpu.formats.dates import parse_day
from azure_gpu.shared.provider_keys import SUBSCRIPTION_ID, TENANT_ID
from azure_gpu.stack.keys import FILE_VARIABLE, config_key
from azure_gpu_operations import planned
from azure_gpu_operations.project import engine_environment, name_of


def texts(value: object) -> Iterator[str]:
    """Keys too: Azure names identities by them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in cast(Mapping[str, object], value).items():
            yield key
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in cast(list[object], value):
            yield from texts(inner)


_MODULE = "azure_gpu_operations.graph.recording"
_FLAGGED_VARIABLE = "PULUMI_CONFIG_SECRET_KEYS"  # as the engine tells a program which keys are encrypted
_NOBODYS = "00000000-0000-0000-0000-000000000000"
_SOURCE = "https://example.com/checkout.git#HEAD"
_LAST_LINES = 3


class WrongStackError(ValueError):
    """The stack's program rejects its configuration. The text has every problem, for the user."""


class ProgramError(ValueError):
    """The stack's program failed. The text is for the user."""


class Resource(NamedTuple):
    """One resource that the program registers."""

    urn: str
    type: str
    name: str
    parent: str  # URN
    number: int  # by which its id and its principal are recognised elsewhere
    inputs: dict[str, Any]
    uses: tuple[str, ...]  # URNs of the resources whose outputs are in its inputs
    outputs: dict[str, Any]  # of a component
    is_component: bool


class Recorded(NamedTuple):
    """A stack as its program declares it."""

    stack: str
    resources: tuple[Resource, ...]
    warnings: tuple[str, ...]
    as_of: str  # the day that the stack is judged at; empty: today

    @property
    def day(self) -> date:
        return parse_day(self.as_of) or datetime.now(UTC).date()


Answers = Callable[[], Sequence[dict[str, Any]]]


def record(program: Path, file: Path, stack: str) -> Recorded:
    """Records a stack's program; subscription and source of images have placeholders if the file has none."""
    with begun(program, [file], stack) as recorded:
        return recorded(file)


@contextmanager
def begun(program: Path, files: Sequence[Path], stack: str) -> Iterator[Callable[[Path], Recorded]]:
    """Begins to record the program with each of the files, and gives the function that waits for one of them. Loading what the
    program imports takes longest, and is done once. The process ends with the block."""
    project_name = name_of(program)
    requests: dict[Path, tuple[dict[str, Any], str]] = {}
    unreadable: dict[Path, planned.UnreadableStackFileError] = {}
    for file in files:
        try:
            requests[file] = _request(program, project_name, file, stack)
        except planned.UnreadableStackFileError as error:
            unreadable[file] = error
    with _answering([request for request, _ in requests.values()]) if requests else nullcontext(tuple) as answers:

        def recorded(file: Path) -> Recorded:
            if file in unreadable:
                raise unreadable[file]
            _, as_of = requests[file]
            return parsed(answers()[list(requests).index(file)], stack, as_of)

        yield recorded


def _request(program: Path, project_name: str, file: Path, stack: str) -> tuple[dict[str, Any], str]:
    """What the recording process needs of a file, and the day that it is judged at."""
    configuration, encrypted = planned.configuration(file, project_name)
    left_out = {SUBSCRIPTION_ID: _NOBODYS, TENANT_ID: _NOBODYS, config_key("image_source", project_name): _SOURCE}
    flagged = sorted({config_key(str(steps[0]), project_name) for steps in encrypted.places})
    request = {
        "program": str(program),
        "project": project_name,
        "stack": stack,
        "configuration": {**left_out, **configuration},
        "environment": {FILE_VARIABLE: str(file), _FLAGGED_VARIABLE: json.dumps(flagged)},
    }
    return request, configuration.get(config_key("as_of", project_name), "")


@contextmanager
def _answering(requests: Sequence[dict[str, Any]]) -> Iterator[Answers]:
    """The recording process, which works while the block does something else."""
    environment = engine_environment()
    path = os.pathsep.join(filter(None, (str(Path(__file__).resolve().parents[2]), environment.get("PYTHONPATH", ""))))
    with _file() as asked, _file() as said, _file() as errors:
        json.dump(requests, asked)
        asked.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-m", _MODULE],
            env={**environment, "PYTHONPATH": path},
            stdin=asked,
            stdout=said,
            stderr=errors,
        )

        @cache
        def answers() -> Sequence[dict[str, Any]]:
            process.wait()
            said.seek(0)
            errors.seek(0)
            try:
                return json.load(said)
            except ValueError:
                last = " ".join(errors.read().strip().splitlines()[-_LAST_LINES:]) or f"exit code {process.returncode}"
                raise ProgramError(f"the program in {requests[0]['program']} ended early: {last}") from None

        try:
            yield answers
        finally:
            process.kill()
            process.wait()


def _file() -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="utf-8")


def parsed(answer: dict[str, Any], stack: str, as_of: str) -> Recorded:
    """Parses the recording process's answer. WrongStackError, ProgramError."""
    if answer["problem"]:
        raise WrongStackError(answer["problem"])
    if answer["failure"]:
        raise ProgramError(f"the program failed: {answer['failure']}")
    found: list[dict[str, Any]] = [{**each, "uses": tuple(each["uses"])} for each in answer["resources"]]
    resources = tuple(Resource(**each) for each in found)
    return Recorded(stack, resources, tuple(answer["warnings"]), as_of)
