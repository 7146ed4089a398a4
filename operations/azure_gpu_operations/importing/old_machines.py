"""Converts Workbench's machines and runs: a virtual machine that is attached to the workspace, and the command for a script."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.sources import WORKBENCH_ARTICLE
from azure_gpu.formats.dates import days_later
from azure_gpu.formats.old_machine_learning.project import Machine, OldProject, Run
from azure_gpu.formats.tags import PROPOSED_DAYS
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.importing.blocks import Entry
from azure_gpu_operations.importing.names import fitting

PROPOSED_SIZE = "Standard_NC4as_T4_v3"
_PYSPARK = "pyspark"


class RunToday(NamedTuple):
    """How a script runs today. `words` has STACK if no stack is known; `notes` are comments."""

    words: tuple[str, ...]
    notes: tuple[str, ...]


def of_machines(found: OldProject, name: str, location: str, as_of: date, own_day: bool) -> tuple[list[Entry], list[Problem]]:
    """A machine for each that was attached by SSH. `name`: what the stack file calls the only one."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    attached = [machine for machine in found.machines if machine.kind in ("remotedocker", "")]
    for index, machine in enumerate(attached, start=1):
        called = name if name and len(attached) == 1 else fitting(machine.name or f"machine-{index}")
        problems += _wrong(machine)
        entries += _entries(called, machine, location, as_of, own_day)
    for machine in found.machines:
        if machine.kind == "cluster":
            message = "an HDInsight cluster runs Spark and has no GPU; nothing is made of it"
            fix = "train on a machine (`vms`) or a cluster of machines (`ml_workspace.computes`)"
            problems.append(Problem(machine.at, message, machine.name or None, fix=fix, severity=Severity.WARNING))
    return entries, problems


def of_runs(found: OldProject, machines: Sequence[str]) -> list[RunToday]:
    """A command for each run. Runs that have no script are how the scripts of the others ran."""
    bare = [run for run in found.runs if not run.script]
    of_script = [run for run in found.runs if run.script]
    # A page shows a piece of the file, without its target.
    configured = {fitting(run.target) if run.target else "": run for run in bare}
    return [_today(run, _configured(run, configured, found), found, machines) for run in of_script or bare]


def _configured(run: Run, configured: Mapping[str, Run], found: OldProject) -> Run:
    """How it runs: by its own file, by the one of its target, or by the only one there is."""
    if run.settings or _is_local(run, found):
        return run
    return configured.get(fitting(run.target) if run.target else "", configured.get("", run))


def _is_local(run: Run, found: OldProject) -> bool:
    kind = next((machine.kind for machine in found.machines if machine.name == run.target), run.target)
    return kind in ("local", "docker")


def _wrong(machine: Machine) -> Iterator[Problem]:
    if machine.settings and not machine.gpu:
        message = "nvidiaDocker isn't true, so the script ran in a container that saw no GPU"
        fix = "nothing is to be done: today's containers on a machine with GPUs see them"
        source = str(WORKBENCH_ARTICLE)
        yield Problem(machine.at, message, machine.name or None, fix=fix, source=source, severity=Severity.WARNING)


def _entries(name: str, machine: Machine, location: str, as_of: date, own_day: bool) -> Iterator[Entry]:
    settings: dict[str, Any] = {"size": PROPOSED_SIZE, "image": "dsvm"}
    settings |= {"location": location} if location and own_day else {}
    settings["expires_after"] = days_later(as_of, PROPOSED_DAYS).isoformat()
    settings |= {"as_of": as_of.isoformat()} if own_day else {}
    comments = [
        f"{machine.at}: the file doesn't contain the machine's size. {PROPOSED_SIZE} is a proposal, with one T4; the "
        "article's NC machines with a K80 have retired.",
        *(str(setting) for setting in machine.settings),
    ]
    comments.append("the address and the password aren't taken; `admin.ssh_public_key` is who may sign in")
    yield Entry("vms", name, settings, comments, [], True)
    yield Entry("ml_workspace", "computes", {name: {"vm": name}}, [], [f"{name}.private_key"], True)


def _today(run: Run, configured: Run, found: OldProject, machines: Sequence[str]) -> RunToday:
    local = _is_local(run, found)
    script = run.script or "SCRIPT"
    words = [*COMMAND.split(), "run", script if script.startswith((".", "/")) else f"./{script}"]
    words += ["--on", "local" if local else "vm"]
    target = fitting(run.target) if run.target else ""
    if not local and len(machines) > 1 and target in machines:
        words += ["--vm", target]
    if found.packages:
        words += ["--requirements", "requirements.txt"]
    for variable, value in configured.environment:
        words += ["--env", f"{variable}={value}"]
    words += ["--stack", "STACK"]
    arguments = run.arguments or configured.arguments
    return RunToday((*words, *(("--", *arguments) if arguments else ())), tuple(_notes(run, configured)))


def _notes(run: Run, configured: Run) -> Iterator[str]:
    yield f"{run.at}: {run.script or 'a script'} on {run.target or 'the machine that the command line names'}"
    if configured.settings and not configured.framework:
        meant = "Framework is missing, which meant PySpark: a Spark session started before the script, and none does today"
        yield f"{configured.at}: {meant}"
    elif configured.framework.lower() == _PYSPARK:
        yield f"{configured.at}: Framework is PySpark; a script that needs Spark doesn't run here"
    for setting in configured.settings:
        yield str(setting)
    for secret in configured.secrets:
        yield f"{configured.at}: {secret} is likely a secret, and isn't taken: give it by --secret-env"


def quoted(words: Sequence[str]) -> str:
    """The command, as a shell takes it."""
    return shlex.join(words)
