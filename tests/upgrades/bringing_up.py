"""Brings a stack up on the real engine and records it: with no Azure at all, or on the embedded one."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from azure_gpu.formats import stack_file
from localazure.plugin.installation import install
from tests.components.recorded_bodies import CASES, CONNECTED
from tests.components.recording import KEYS, STACK as STACK_OF_CASES
from tests.components.settings_of import configuration
from tests.support.embedded import CHECKOUT, ServedAzure, kubernetes_programs
from tests.support.stack import connected_environment
from tests.upgrades import answers, placeholders, records
from tests.upgrades.records import Record
from tests.upgrades.stacks import RecordedStack


def offline(name: str, folder: Path, engine_bin: Path) -> Record:
    """A shipped stack or a happy case."""
    stack, config, by_token = said(name)
    up = RecordedStack(folder, stack, config, engine_bin=engine_bin, prepared={"by_token": answers.prepared_by(by_token)})
    up.up()
    return records.record_of(stack, config, up.exported(), answers.heard(up.heard))


def said(name: str) -> tuple[str, dict[str, str], Mapping[str, Any]]:
    """The stack's name, its configuration as the engine hands it over, and answers by token."""
    if name.startswith(records.STACK):
        stack = name.removeprefix(records.STACK)
        return stack, {**CONNECTED, **stack_file.configuration((CHECKOUT / f"Pulumi.{stack}.yaml").read_text())}, KEYS
    case = yaml.load((CASES / f"{name}.yaml").read_text(), yaml.CSafeLoader)
    return STACK_OF_CASES, configuration(case["says"]), {**KEYS, **case.get("azure_answers", {})}


def embedded(name: str, azure: ServedAzure, folder: Path, engine_bin: Path) -> Record:
    """A shipped stack, connected as `make up` does it, and destroyed again."""
    stack = name.removeprefix(records.EMBEDDED)
    done = azure.command("connect", stack)
    assert done.returncode == 0, done.stderr
    config = stack_file.configuration((azure.state / f"Pulumi.{stack}.yaml").read_text())
    environment = connected_environment(azure, engine_bin)
    if programs := kubernetes_programs():
        environment["PATH"] = f"{programs}:{environment['PATH']}"
    install(Path(environment["PULUMI_HOME"]), Path(sys.executable), CHECKOUT, module="tests.upgrades.listening")
    up = RecordedStack(folder, stack, config, engine_bin=engine_bin, environment=environment)
    try:
        up.up()
        record = records.record_of(stack, config, up.exported(), answers.heard(up.heard))
        return placeholders.put(record, azure)
    finally:
        up.destroy()
