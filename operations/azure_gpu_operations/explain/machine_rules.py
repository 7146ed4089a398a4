"""A virtual machine, and its rules of code. The others are rows of `findings.yaml`. Pure."""

from typing import NamedTuple

from azure_gpu.catalog.services import driver_extension
from azure_gpu.catalog.services.machines.smi import PROOF_COMMAND
from azure_gpu_operations.explain import refusal_rules, table
from azure_gpu_operations.explain.facts import Container, Facts, Finding, Kind, Refusal
from azure_gpu_operations.virtual_machines import Extension, Machine, RunCommand

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
            state=", ".join(text for text in (self.state, self.power) if text),
            provisioning=self.state,
            containers=tuple(shown),
            message="; ".join(machine.messages) if machine else "",
            refusals=self.refusals,
        )

    @property
    def state(self) -> str:
        return self.machine.state if self.machine else ""

    @property
    def power(self) -> str:
        return self.machine.power if self.machine else ""

    @property
    def called_power(self) -> str:
        return self.power or "not started"

    @property
    def is_spot(self) -> bool:
        return self.machine is not None and self.machine.spot

    @property
    def messages(self) -> tuple[str, ...]:
        return (*(self.machine.messages if self.machine else ()), *(each.message for each in self.refusals))

    @property
    def schedule(self) -> str:
        """When it is shut down each day."""
        found = self.machine.shutdown if self.machine else None
        zone = f" ({found.zone})" if found and found.zone else ""
        return f"{found.time}{zone}" if found and found.time else ""

    @property
    def extension(self) -> Extension | None:
        """The first that failed."""
        return next((each for each in (self.machine.extensions if self.machine else ()) if each.state == "failed"), None)

    @property
    def failed_extension(self) -> str:
        return self.extension.name if self.extension else ""

    @property
    def failed_driver(self) -> bool:
        found = self.extension
        return found is not None and any(each in f"{found.type} {found.name}" for each in _DRIVERS)

    @property
    def extension_message(self) -> str:
        return self.extension.message if self.extension else ""

    @property
    def extension_log(self) -> str:
        is_windows = self.machine is not None and self.machine.windows
        return r"C:\WindowsAzure\Logs\Plugins\Microsoft.HpcCompute" if is_windows else "/var/log/azure/nvidia-vmext-status"

    @property
    def failed_commands(self) -> list[RunCommand]:
        """The newest last."""
        found = [each for each in (self.machine.commands if self.machine else ()) if _has_failed(each)]
        return sorted(found, key=lambda each: each.ended.timestamp() if each.ended else 0.0)

    @property
    def proof(self) -> RunCommand | None:
        """The command by which the program has the machine prove its driver, if it failed."""
        return next((each for each in self.failed_commands if each.name.startswith(PROOF_COMMAND)), None)

    @property
    def failed_proof(self) -> str:
        return self.proof.name if self.proof else ""

    @property
    def proof_message(self) -> str:
        return self.proof.message.strip() if self.proof else ""

    @property
    def failed_command(self) -> str:
        return self.failed_commands[-1].name if self.failed_commands else ""

    @property
    def command_state(self) -> str:
        return self.failed_commands[-1].state

    @property
    def command_message(self) -> str:
        return self.failed_commands[-1].message.strip()

    @property
    def command_lines(self) -> list[str]:
        return f"{self.failed_commands[-1].error}\n{self.failed_commands[-1].output}".splitlines()

    @property
    def with_code(self) -> str:
        code = self.failed_commands[-1].exit_code
        return "" if code is None else f" with exit code {code}"


def explain(case: MachineCase) -> Finding:
    return table.explain_surely("machine", case, {"refused": _refused})


def _refused(case: MachineCase) -> Finding | None:
    """A machine that wasn't created, or without capacity."""
    machine = case.machine
    if machine is not None and ((not machine.messages and machine.state != "Failed") or case.extension is not None):
        return None  # an extension that failed is why it is Failed
    refused = refusal_rules.first(case.as_facts())
    if refused is not None or machine is None:
        return refused or refusal_rules.not_there("machine")
    matched = table.first("no capacity", machine.messages)
    return refusal_rules.capacity_finding(matched, "") if matched else None


def _has_failed(command: RunCommand) -> bool:
    return command.state in ("Failed", "TimedOut", "Canceled") or bool(command.exit_code)
