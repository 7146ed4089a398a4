"""Rules for the cause of a failed or stopped virtual machine, tried in order. Pure.

Programs and log files of the driver extensions: Microsoft Learn, virtual-machines/extensions/hpccompute-gpu-linux and
hpccompute-gpu-windows.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from azure_gpu.catalog.services import driver_extension
from azure_gpu.catalog.services.machines import power
from azure_gpu.catalog.services.machines.smi import PROOF_COMMAND
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.explain import ml_phrases, phrases, refusal_rules
from azure_gpu_operations.explain.facts import Cause, Container, Facts, Finding, Kind, Refusal
from azure_gpu_operations.virtual_machines import Extension, Machine, RunCommand

_UP = "then `pulumi up`"
_DRIVERS = (driver_extension.NVIDIA_LINUX, driver_extension.NVIDIA_WINDOWS)
_EVICTED = re.compile(r"preempted|evicted|eviction", re.IGNORECASE)
_BAD = ("Failed", "TimedOut", "Canceled")


class MachineCase(NamedTuple):
    """A machine. `machine` None: it isn't there."""

    name: str
    id: str
    machine: Machine | None = None
    refusals: tuple[Refusal, ...] = ()

    def as_facts(self) -> Facts:
        machine = self.machine
        state = ", ".join(text for text in (machine.state, machine.power) if text) if machine else ""
        shown = [
            Container(_called(each), exit_code=each.exit_code, log=tuple((each.error or each.output).splitlines()[-15:]))
            for each in (machine.commands if machine else ())
        ]
        return Facts(
            self.name,
            Kind.MACHINE,
            self.id,
            exists=machine is not None,
            state=state,
            provisioning=machine.state if machine else "",
            containers=tuple(shown),
            message="; ".join(machine.messages) if machine else "",
            refusals=self.refusals,
        )


def explain(case: MachineCase) -> Finding:
    return next(finding for rule in RULES if (finding := rule(case)) is not None)


def _refused(case: MachineCase) -> Finding | None:
    """A machine that wasn't created, or without capacity."""
    machine, facts = case.machine, case.as_facts()
    if machine is not None and not machine.messages and machine.state != "Failed":
        return None
    if machine is not None and any(each.state == "failed" for each in machine.extensions):
        return None  # that is why it is Failed
    refused = refusal_rules.first(facts)
    if refused is not None or machine is None:
        return refused or refusal_rules.not_there("machine")
    matched = phrases.first(phrases.NO_CAPACITY, machine.messages)
    return refusal_rules.capacity_finding(matched, "") if matched else None


def _extension(case: MachineCase) -> Finding | None:
    failed = [each for each in case.machine.extensions if each.state == "failed"] if case.machine else []
    if not failed or case.machine is None:
        return None
    first = failed[0]
    is_driver = any(each in f"{first.type} {first.name}" for each in _DRIVERS)
    return _driver(case.machine, first) if is_driver else _other_extension(first)


def _driver(machine: Machine, extension: Extension) -> Finding:
    where = "/var/log/azure/nvidia-vmext-status" if not machine.windows else r"C:\WindowsAzure\Logs\Plugins\Microsoft.HpcCompute"
    return Finding(
        Cause.EXTENSION,
        "the extension that installs NVIDIA's driver failed, so programs can't use the machine's GPU",
        "usual reasons: the image already has a driver (`driver: image`), an unsupported newer kernel, secure boot, or no "
        f"internet access; for details see {where} on the machine; fix it, {_UP}",
        (extension.message,) if extension.message else (),
    )


def _other_extension(extension: Extension) -> Finding:
    return Finding(
        Cause.EXTENSION,
        f"its extension {extension.name} failed",
        f"fix the error named in the message, {_UP}",
        (extension.message,) if extension.message else (),
    )


def _proof(case: MachineCase) -> Finding | None:
    """The run-command by which the program has the machine prove its driver."""
    found = next((each for each in _bad(case) if each.name.startswith(PROOF_COMMAND)), None)
    if found is None:
        return None
    return Finding(
        Cause.NO_GPU,
        "the driver check failed: nvidia-smi found no GPU or didn't answer",
        f"check that its size has a GPU and that `driver` fits the image; {_UP}",
        _evidence(found),
        _called(found),
    )


def _command(case: MachineCase) -> Finding | None:
    bad = _bad(case)
    if not bad:
        return None
    newest = max(bad, key=lambda each: each.ended.timestamp() if each.ended else 0.0)
    if newest.state == "TimedOut":
        fix = "set a longer --timeout, or save checkpoints"
        return Finding(
            Cause.TIMEOUT, f"the run-command {newest.name} was stopped at its time limit", fix, _evidence(newest), _called(newest)
        )
    missing = ml_phrases.NO_MODULE.search(f"{newest.error}\n{newest.output}")
    if missing and missing["name"]:
        return Finding(
            Cause.MISSING_PACKAGE,
            f"the run-command {newest.name} runs a program that imports {missing['name']}, which isn't installed on the machine",
            "install it on the machine, or run the program in its container",
            (missing[0],),
            _called(newest),
        )
    code = "" if newest.exit_code is None else f" with exit code {newest.exit_code}"
    return Finding(
        Cause.RUN_COMMAND,
        f"the run-command {newest.name} ended{code}",
        "see its last lines; the program defines its exit codes",
        _evidence(newest),
        _called(newest),
    )


def _deallocated(case: MachineCase) -> Finding | None:
    machine = case.machine
    if machine is None or machine.power != power.DEALLOCATED.name:
        return None
    start = f"{COMMAND} vm start {case.name} --stack STACK"
    if machine.spot and phrases.first(_EVICTED, (*machine.messages, *(each.message for each in case.refusals))):
        return Finding(Cause.EVICTED, "Azure evicted it (Spot); its disks are kept and billed", start)
    schedule = machine.shutdown
    if schedule.time:
        zone = f" ({schedule.zone})" if schedule.zone else ""
        return Finding(
            Cause.OUT_OF_HOURS,
            f"it is deallocated by its daily schedule at {schedule.time}{zone}; its disks are kept and billed",
            f"{start}; `shutdown: {{enabled: false}}` in the stack's file removes the schedule",
        )
    return Finding(Cause.DEALLOCATED, "it was deallocated; only its disks are billed", start)


def _stopped(case: MachineCase) -> Finding | None:
    machine = case.machine
    if machine is None or machine.power != power.STOPPED.name:
        return None
    return Finding(
        Cause.SHUT_DOWN,
        "it was shut down from inside or stopped without being deallocated, and is billed as if it ran",
        f"{COMMAND} vm stop {case.name} --stack STACK deallocates it, `vm start` starts it",
    )


def _coming(case: MachineCase) -> Finding | None:
    machine = case.machine
    if machine is None or (machine.state not in ("Creating", "Updating") and machine.power == power.RUNNING.name):
        return None
    return Finding(
        Cause.STARTING, f"it is {machine.state}, {machine.power or 'not started'}", "wait some minutes, then check again"
    )


def _healthy(case: MachineCase) -> Finding:
    del case
    return Finding(Cause.HEALTHY, "it is running; no problem found", "nothing to do")


def _bad(case: MachineCase) -> list[RunCommand]:
    return [each for each in case.machine.commands if each.state in _BAD or each.exit_code] if case.machine else []


def _evidence(command: RunCommand) -> tuple[str, ...]:
    return tuple(text for text in (command.message.strip(),) if text)


def _called(command: RunCommand) -> str:
    return f"the run-command {command.name}"


RULES: tuple[Callable[[MachineCase], Finding | None], ...] = (
    _refused,
    _extension,
    _deallocated,
    _stopped,
    _proof,
    _command,
    _coming,
    _healthy,
)
