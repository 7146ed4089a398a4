"""A virtual machine, and its rules of code. The others are rows of `findings.yaml`. Pure."""

from typing import Any, NamedTuple

from azure_gpu.catalog.services import driver_extension
from azure_gpu.catalog.services.machines.smi import PROOF_COMMAND
from azure_gpu_operations.explain import refusal_rules, table
from azure_gpu_operations.explain.facts import Container, Facts, Finding, Kind, Refusal
from azure_gpu_operations.virtual_machines import Extension, Machine

_DRIVERS = (driver_extension.NVIDIA_LINUX, driver_extension.NVIDIA_WINDOWS)


class MachineCase(NamedTuple):
    """A machine. `machine` None: it isn't there."""

    name: str
    id: str
    machine: Machine | None = None
    refusals: tuple[Refusal, ...] = ()

    def as_facts(self) -> Facts:
        machine = self.machine
        shown = [
            Container(
                f"the run-command {each.name}",
                exit_code=each.exit_code,
                log=tuple((each.error or each.output).splitlines()[-15:]),
            )
            for each in (machine.commands if machine else ())
        ]
        return Facts(
            self.name,
            Kind.MACHINE,
            self.id,
            exists=machine is not None,
            state=", ".join(text for text in (machine.state, machine.power) if text) if machine else "",
            provisioning=machine.state if machine else "",
            containers=tuple(shown),
            message="; ".join(machine.messages) if machine else "",
            refusals=self.refusals,
        )


def explain(case: MachineCase) -> Finding:
    return table.explain_surely("machine", case, {"refused": _refused}, _of_machine(case) if case.machine else {})


def _refused(case: MachineCase) -> Finding | None:
    """A machine that wasn't created, or without capacity."""
    machine = case.machine
    if machine is not None and ((not machine.messages and machine.state != "Failed") or _failed_extension(machine) is not None):
        return None  # an extension that failed is why it is Failed
    refused = refusal_rules.first(case.as_facts())
    if refused is not None or machine is None:
        return refused or refusal_rules.not_there("machine")
    matched = table.first("no capacity", machine.messages)
    return refusal_rules.about("no capacity", matched) if matched else None


def _of_machine(case: MachineCase) -> dict[str, Any]:
    """What rows of the table name."""
    machine = case.machine
    assert machine is not None
    schedule, extension = machine.shutdown, _failed_extension(machine)
    bad = [each for each in machine.commands if each.state in ("Failed", "TimedOut", "Canceled") or each.exit_code]
    proof = next((each for each in bad if each.name.startswith(PROOF_COMMAND)), None)
    command = max(bad, key=lambda each: each.ended.timestamp() if each.ended else 0.0, default=None)
    windows, linux = r"C:\WindowsAzure\Logs\Plugins\Microsoft.HpcCompute", "/var/log/azure/nvidia-vmext-status"
    return {
        "state": machine.state,
        "power": machine.power,
        "called_power": machine.power or "not started",
        "is_spot": machine.spot,
        "messages": [*machine.messages, *(each.message for each in case.refusals)],
        "schedule": (f"{schedule.time} ({schedule.zone})" if schedule.zone else schedule.time) if schedule.time else "",
        "failed_extension": extension.name if extension else "",
        "failed_driver": bool(extension) and any(each in f"{extension.type} {extension.name}" for each in _DRIVERS),
        "extension_message": extension.message if extension else "",
        "extension_log": windows if machine.windows else linux,
        "failed_proof": proof.name if proof else "",
        "proof_message": proof.message.strip() if proof else "",
        "failed_command": command.name if command else "",
        "command_state": command.state if command else "",
        "command_message": command.message.strip() if command else "",
        "command_lines": f"{command.error}\n{command.output}".splitlines() if command else [],
        "with_code": "" if command is None or command.exit_code is None else f" with exit code {command.exit_code}",
    }


def _failed_extension(machine: Machine) -> Extension | None:
    return next((each for each in machine.extensions if each.state == "failed"), None)
