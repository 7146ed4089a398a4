"""What an administrator is told to run grants what the program would assign: the same roles on the same scopes, and no more."""

import re
import subprocess
from typing import Any

import pytest
import yaml

from azure_gpu.formats import azure_types
from tests.components import recorded_bodies
from tests.components.recording import DEPLOYER, KEYS, SUBSCRIPTION, Recorded
from tests.components.settings_of import configuration

Granted = set[tuple[str, str, str]]  # who, role, scope
NAMED = (azure_types.REGISTRY.token, azure_types.STORAGE_ACCOUNT.token)  # in commands by name and not by id
COMMAND = re.compile(
    r"az role assignment create --assignee-object-id (?P<who>.+?)( --assignee-principal-type \w+)?"
    r" --role (?P<role>'[^']+'|\S+) --scope (?P<scope>.+)"
)


RECORD = recorded_bodies.recorded()
TAKEN = re.compile(r"\.(happy|variants)\.")
WITH_ROLES = [name for name in RECORD if TAKEN.search(name) and "\nroles:\n" in recorded_bodies.file_text(name)]


def without_assigning(name: str) -> Recorded:
    case: dict[str, Any] = yaml.load((recorded_bodies.CASES / f"{name}.yaml").read_text(), yaml.CSafeLoader)
    config = configuration({**case["says"], "assign_roles": False})
    return recorded_bodies.run_program(config, {**KEYS, **case.get("azure_answers", {})})


@pytest.mark.parametrize("name", WITH_ROLES)
def test_the_commands_grant_what_the_program_would(name: str) -> None:
    recorded = without_assigning(name)
    assert recorded.roles == []
    # The service tells the principal of an endpoint's or a machine's own identity once it is there.
    assigned = {tuple(role[:3]) for role in RECORD[name]["roles"] if not role[3].startswith(("MlEndpoint", "GpuVm"))}
    assert granted_by(recorded) == assigned


@pytest.mark.slow
def test_a_shell_can_read_every_command() -> None:
    """Of the longest case of each component: each has commands in commands, in quotes."""
    for name in filter(recorded_bodies.has_most, WITH_ROLES):
        recorded = without_assigning(name)
        lines = [line for text in recorded.log for line in text.splitlines() if line.startswith("az ")]
        subprocess.run(["sh", "-n", "-c", "\n".join(lines)], check=True)


def granted_by(recorded: Recorded) -> Granted:
    lines = [line for text in recorded.log for line in text.splitlines() if line.startswith("az ")]
    told = [each.groupdict() for line in lines if (each := COMMAND.fullmatch(line))]
    assert len(told) == len(lines)
    return {(named(each["who"], recorded), each["role"].strip("'"), named(each["scope"], recorded)) for each in told}


def named(text: str, recorded: Recorded) -> str:
    """The resource that an id is of, or a command finds, as `Recorded.roles` calls it."""
    if text == DEPLOYER:
        return "deployer"
    made = {id_.lower(): name for name, ids in ids_of(recorded).items() for id_ in ids}
    if not text.startswith('"$('):
        return made.get(text.lower(), text.removeprefix("/id-of/"))
    [of_id] = re.findall(r"--ids (\S+)", text) or [""]
    if "kubeletidentity" in text:
        return f"kubelet of {str(of_id).rsplit('/', 1)[-1]}"
    if of_id:
        return made.get(str(of_id).lower(), str(of_id).rsplit("/", 1)[-1])
    [begins] = re.findall(r"starts_with\(name, '([^']+)'\)", text) or [""]
    if begins:
        return str(begins)
    [name] = re.findall(r"--name (\S+)", text)
    [found] = [
        each.name
        for each in recorded.registrations
        if name in (each.inputs.get("registryName"), each.inputs.get("accountName")) and each.type in NAMED
    ]
    return found


def ids_of(recorded: Recorded) -> dict[str, list[str]]:
    """ARM ids by the resource's name in the program."""
    found: dict[str, list[str]] = {}
    for each in recorded.registrations:
        azure_type = azure_types.BY_TOKEN.get(each.type)
        if azure_type is not None and all(each.inputs.get(name) for name in azure_type.path_parameters):
            found.setdefault(each.name, []).append(azure_type.id_of(SUBSCRIPTION, each.inputs))
    return found
