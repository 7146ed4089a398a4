"""Reads Workbench's `<target>.compute` and `<configuration>.runconfig`.

Keys are taken in any letter case; a password is never taken, not even an encrypted one."""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, cast

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.services.machine_learning.old_settings import COMPUTE_FILE, RUN_FILE, OldSetting
from azure_gpu.formats import located_yaml
from azure_gpu.formats.document import Document
from azure_gpu.formats.lenient_json import member
from azure_gpu.formats.likely_secrets import holds_secret, is_secret_name, without_secrets
from azure_gpu.formats.old_machine_learning.project import Machine, Run, Setting

KINDS = ("local", "docker", "remotedocker", "cluster")
FRAMEWORKS = ("PySpark", "Python")
SCRIPT = "$file"  # in ArgumentVector: the script of the command line
_NEVER_TAKEN = ("password",)


def read_compute(text: str, file: str) -> tuple[Machine | None, list[Problem]]:
    """`file` is how the user named it; what is before `.compute` is the machine's name."""
    document, problems = _mapping_of(text, file)
    if document is None:
        return None, problems
    values, unknown = _known(document, COMPUTE_FILE)
    problems += unknown
    kind = str(values.get("type") or "").lower()
    if kind and kind not in KINDS:
        problems.append(Problem(document.at("type"), "unknown kind of machine", kind, allowed=", ".join(KINDS)))
    machine = Machine(
        at=document.at(""),
        name=PurePath(file).stem,
        kind=kind,
        gpu=str(values.get("nvidiaDocker")).lower() == "true",
        settings=tuple(_settings(document, values, COMPUTE_FILE)),
    )
    return machine, problems


def read_run(text: str, file: str) -> tuple[Run | None, list[Problem]]:
    """`file` is how the user named it."""
    document, problems = _mapping_of(text, file)
    if document is None:
        return None, problems
    values, unknown = _known(document, RUN_FILE)
    problems += unknown
    vector = values.get("ArgumentVector")
    words = [str(word) for word in cast(list[Any], vector)] if isinstance(vector, list) else []
    variables = _mapping(values.get("EnvironmentVariables"))
    arguments, hidden = without_secrets(words[1:])
    secrets = tuple(name for name, value in variables.items() if is_secret_name(name) or holds_secret(str(value)))
    framework = str(values.get("Framework") or "")
    if framework and framework.lower() not in [each.lower() for each in FRAMEWORKS]:
        where = document.at("Framework")
        problems.append(Problem(where, "unknown framework", framework, allowed=", ".join(FRAMEWORKS)))
    run = Run(
        at=document.at(""),
        target=str(values.get("Target") or ""),
        script=words[0] if words and words[0] != SCRIPT else "",
        arguments=tuple(arguments),
        environment=tuple((name, str(value)) for name, value in variables.items() if name not in secrets),
        secrets=(*secrets, *hidden),
        framework=framework,
        conda_file=str(values.get("CondaDependenciesFile") or ""),
        settings=tuple(_settings(document, values, RUN_FILE)),
    )
    return run, problems


def _mapping(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _mapping_of(text: str, file: str) -> tuple[Document | None, list[Problem]]:
    document, problems = located_yaml.read(text, file)
    if document is not None and not isinstance(document.value, dict):
        problems.append(Problem(file, "not a file of Workbench", fix="write its settings, each as `name: value`"))
        return None, problems
    return document, problems


def _known(document: Document, table: Mapping[str, OldSetting]) -> tuple[dict[str, Any], list[Problem]]:
    """The settings in the table's spelling, and a warning for each other."""
    spelling = {name.lower(): name for name in table}
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for key, value in cast(dict[str, Any], document.value).items():
        name = spelling.get(str(key).lower())
        if name is None:
            where = document.at(member("", str(key)))
            problems.append(
                Problem(where, "Workbench's pages don't have this setting; it is left out", severity=Severity.WARNING)
            )
        else:
            values[name] = value
    return values, problems


def _settings(document: Document, values: Mapping[str, Any], table: Mapping[str, OldSetting]) -> Iterator[Setting]:
    written = {str(key).lower(): str(key) for key in cast(dict[str, Any], document.value)}
    for name, value in values.items():
        at = document.at(member("", written[name.lower()]))
        yield Setting(at, name, "" if name in _NEVER_TAKEN else _text(value), table[name])


def _text(value: Any) -> str:
    """Scalars as they are; of a list or a mapping nothing, as values in it may be secrets."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) and not holds_secret(str(value)) else ""
