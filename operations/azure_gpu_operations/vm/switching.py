"""Starts and deallocates a stack's virtual machine by its name, and says what it costs then."""

from collections.abc import Callable
from datetime import UTC, datetime

from azure_gpu.catalog.services.machines.shutdown import DEALLOCATED, RUNNING
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations import virtual_machines
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.stack_view import StackView
from azure_gpu_operations.virtual_machines import Machine
from azure_gpu_operations.vm import power, showing

Say = Callable[[str], None]


class GoneError(Exception):
    """The machine is in the stack's state and not in Azure. The text is for the user."""


def start(arm: Arm, found: StackView, name: str, say: Say) -> None:
    """Returns when it is ready. PowerError if it doesn't start."""
    machine = _get(arm, found, name)
    if machine.power == RUNNING.name:
        say(f"{name} is already running")
    else:
        say(f"starting {name}")
        power.start(arm, machine.id)
        machine = machine._replace(power=RUNNING.name, since=None)
    for line in showing.lines(
        machine, idle_usd=found.idle_cost.get(name), expires_at=found.expires_at.get(name), now=datetime.now(UTC)
    ):
        say(line)
    say(f"when you are done: {COMMAND} stop {name} --stack {found.name}")


def stop(arm: Arm, found: StackView, name: str, say: Say) -> None:
    """Returns when it is deallocated. PowerError if it isn't."""
    machine = _get(arm, found, name)
    if machine.power == DEALLOCATED.name:
        say(f"{name} is already deallocated")
    else:
        say(f"deallocating {name}")
        power.deallocate(arm, machine.id)
    cost = showing.cost(machine._replace(power=DEALLOCATED.name), found.idle_cost.get(name), datetime.now(UTC).date())
    say(f"{name} is deallocated; cost: {cost}")


def _get(arm: Arm, found: StackView, name: str) -> Machine:
    machine = virtual_machines.get(arm, found.vms[name])
    if machine is None:
        raise GoneError("the machine doesn't exist; it was deleted outside the stack, or evicted as a Spot machine")
    return machine
