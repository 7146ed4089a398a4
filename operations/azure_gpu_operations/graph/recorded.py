"""Records the resources that a stack's program declares, in a separate process.

WrongStackError has every problem of the stack file; ProgramError means that the program itself failed.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

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


def record(program: Path, file: Path, stack: str) -> Recorded:
    """Records a stack's program; subscription and source of images have placeholders if the file has none."""
    project_name = name_of(program)
    configuration, encrypted = planned.configuration(file, project_name)
    left_out = {SUBSCRIPTION_ID: _NOBODYS, TENANT_ID: _NOBODYS, config_key("image_source", project_name): _SOURCE}
    request = {
        "program": str(program),
        "project": project_name,
        "stack": stack,
        "configuration": {**left_out, **configuration},
    }
    flagged = sorted({config_key(str(steps[0]), project_name) for steps in encrypted.places})
    environment = {**engine_environment(), FILE_VARIABLE: str(file), _FLAGGED_VARIABLE: json.dumps(flagged)}
    return parsed(_answer(request, environment), stack, configuration.get(config_key("as_of", project_name), ""))


def _answer(request: dict[str, Any], environment: dict[str, str]) -> dict[str, Any]:
    path = os.pathsep.join(filter(None, (str(Path(__file__).resolve().parents[2]), environment.get("PYTHONPATH", ""))))
    done = subprocess.run(
        [sys.executable, "-m", _MODULE],
        input=json.dumps(request),
        env={**environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    try:
        return json.loads(done.stdout)
    except ValueError:
        last = " ".join(done.stderr.strip().splitlines()[-_LAST_LINES:]) or f"exit code {done.returncode}"
        raise ProgramError(f"the program in {request['program']} ended early: {last}") from None


def parsed(answer: dict[str, Any], stack: str, as_of: str) -> Recorded:
    """Parses the recording process's answer. WrongStackError, ProgramError."""
    if answer["problem"]:
        raise WrongStackError(answer["problem"])
    if answer["failure"]:
        raise ProgramError(f"the program failed: {answer['failure']}")
    found: list[dict[str, Any]] = [{**each, "uses": tuple(each["uses"])} for each in answer["resources"]]
    resources = tuple(Resource(**each) for each in found)
    return Recorded(stack, resources, tuple(answer["warnings"]), as_of)
