"""`import` of a project for one of Azure Machine Learning's retired clients: a file, a page or notebook, or its folder.

The meaning of each old setting is a comment beside the new one; a password or a key is never taken."""

import argparse
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.services.machine_learning import old_packages
from azure_gpu.catalog.services.machine_learning.clients import Client, client_problems
from azure_gpu.catalog.services.machine_learning.old_packages import RequestedPackage
from azure_gpu.catalog.services.machine_learning.packages import Package
from azure_gpu.formats.old_machine_learning import read as old
from azure_gpu.formats.old_machine_learning.project import OldProject, Packages
from azure_gpu_operations.importing.blocks import Entry
from azure_gpu_operations.importing.old_machine_learning_page import TakenProject
from azure_gpu_operations.importing.old_machines import of_machines, of_runs
from azure_gpu_operations.importing.old_services import of_services
from azure_gpu_operations.importing.texts import text_of

_ENDINGS = (".compute", ".runconfig", ".yml", ".yaml", ".py", ".ipynb")
_MOST_FILES = 200
_PARTS = ("resource_group", "identity", "registry", "storage", "log_workspace")


def is_old_machine_learning(path: Path) -> bool:
    """Whether the file, or a file of the folder, is one of theirs."""
    return any(old.belongs(str(file), text) for file in _files(path) if (text := _quietly(file)))


def take(options: argparse.Namespace, location: str, as_of: date, own_day: bool) -> tuple[TakenProject, list[Problem]]:
    """`location` is the stack's, or the command line's. `own_day`: the day isn't the stack's, so the entries have it."""
    problems: list[Problem] = []
    texts: list[tuple[str, str]] = []
    for file in _files(Path(options.file)):
        text, wrong = text_of(str(file))
        problems += wrong
        if text is not None:
            texts.append((str(file), text))
    found, wrong = old.read(texts)
    problems += wrong
    problems += _of_packages(found)
    problems += _gone(options.file, found, as_of)
    machines, wrong = of_machines(found, options.name or "", location, as_of, own_day)
    problems += wrong
    services, wrong = of_services(found, options.name or "", location, as_of, own_day)
    problems += wrong
    runs = of_runs(found, [entry.name for entry in machines if entry.section == "vms"])
    entries = [*_foundation([*machines, *services]), *machines, *services]
    return TakenProject(options.file, found, entries, runs), problems


def _foundation(entries: list[Entry]) -> list[Entry]:
    """What machines and services depend on, unless the stack file has it already."""
    return [Entry("foundation", part, "create", [], [], True, unless_there=True) for part in _PARTS if entries]


def _files(path: Path) -> list[Path]:
    """A file as it is named; of a folder those that may be theirs, its aml_config among them."""
    if not path.is_dir():
        return [path]
    inside = [one for folder in (path, path / "aml_config") if folder.is_dir() for one in sorted(folder.iterdir())]
    return [one for one in inside if one.suffix.lower() in _ENDINGS and one.is_file()][:_MOST_FILES]


def _quietly(file: Path) -> str:
    text, _ = text_of(str(file))
    return text or ""


def _of_packages(found: OldProject) -> Iterator[Problem]:
    gpu = _on_gpus(found)
    for packages in found.packages:
        yield from old_packages.problems(_asked(packages), gpu=gpu, serves=bool(found.services or found.scripts))


def _asked(packages: Packages) -> Iterator[RequestedPackage]:
    for package, line in zip(packages.conda.packages, packages.lines, strict=True):
        wanted = Package(package.name, package.extras, package.constraint, package.pip)
        yield RequestedPackage(wanted, package.text, f"{packages.file}:{line}")


def _on_gpus(found: OldProject) -> bool:
    """Whether the project uses GPUs. One with only packages is assumed to."""
    on_gpus = [machine.gpu for machine in found.machines if machine.kind != "local"]
    on_gpus += [bool(service.inference.get("enable_gpu")) for service in found.services]
    return any(on_gpus) if on_gpus else True


def _gone(file: str, found: OldProject, as_of: date) -> Iterator[Problem]:
    """That the client itself is gone, as a warning: what it did is answered here."""
    clients = [Client.WORKBENCH] if found.machines or found.runs else []
    clients += [Client.SDK_V1] if found.clusters or found.services or found.scripts else []
    for client in clients:
        for problem in client_problems(client, as_of, path=file):
            yield problem._replace(severity=Severity.WARNING)
