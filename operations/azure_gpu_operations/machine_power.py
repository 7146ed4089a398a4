"""Starts and deallocates a stack's virtual machines, waits for them, and describes one; `PowerError` on failure or timeout.

Machines are deallocated, not only shut down, because a machine that is shut down is still billed.
"""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from typing import Any

from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.catalog.services.machines import shutdown, smi
from azure_gpu.catalog.services.machines.shutdown import DEALLOCATED, RUNNING
from azure_gpu.catalog.services.machines.smi import PROOF_COMMAND
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations import virtual_machines
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.stack_view import StackView
from azure_gpu_operations.virtual_machines import API_VERSION, Machine

POLL_SECONDS = 2.0
LIMIT_SECONDS = 1200.0  # a machine with GPUs takes minutes; lack of capacity is reported sooner
ROLE = "Virtual Machine Contributor"  # built-in; its actions are to start and to deallocate
_READY = "Ready"


class PowerError(Exception):
    """The machine didn't reach the requested state. The text is for the user."""


def start_machine(arm: Arm, machine_id: str, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Returns when it is running and its agent, which run-commands need, is ready."""
    _ask(arm, machine_id, "start")
    _wait(arm, machine_id, lambda view: power_of(view) == RUNNING.name and agent_is_ready(view), "start", sleep)


def deallocate_machine(arm: Arm, machine_id: str, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Returns when it is deallocated; from then on only its disk is billed."""
    _ask(arm, machine_id, "deallocate")
    _wait(arm, machine_id, lambda view: power_of(view) == DEALLOCATED.name, "be deallocated", sleep)


def power_of(view: dict[str, Any]) -> str:
    codes = [str(each.get("code") or "") for each in view.get("statuses") or []]
    return next((code.partition("/")[2] for code in codes if code.startswith("PowerState/")), "")


def agent_is_ready(view: dict[str, Any]) -> bool:
    """True also if the view has no agent, as from services without one."""
    agent = view.get("vmAgent")
    return agent is None or any(each.get("displayStatus") == _READY for each in agent.get("statuses") or [])


def _ask(arm: Arm, machine_id: str, action: str) -> None:
    try:
        arm.post(f"{machine_id}/{action}", API_VERSION)
    except AzureError as error:
        if error.status == 403:
            name = machine_id.rsplit("/", 1)[-1]
            raise PowerError(f"this login may not {action} {name}; it needs the role {ROLE} on it ({error})") from error
        raise


def _wait(arm: Arm, machine_id: str, there: Callable[[dict[str, Any]], bool], what: str, sleep: Callable[[float], None]) -> None:
    waited = 0.0
    while True:
        view = arm.get(f"{machine_id}/instanceView", API_VERSION)
        name = machine_id.rsplit("/", 1)[-1]
        if view is None:
            raise PowerError(f"{name} doesn't exist any more; it was deleted outside the stack, or evicted as a Spot machine")
        if there(view):
            return
        failed = next((each for each in view.get("statuses") or [] if "/failed" in str(each.get("code") or "").lower()), None)
        if failed is not None:
            raise PowerError(
                f"{name} failed to {what}: {failed.get('code')}: {failed.get('message') or failed.get('displayStatus')}"
            )
        if waited >= LIMIT_SECONDS:
            raise PowerError(
                f"{name} didn't {what} within {LIMIT_SECONDS / 60:g} minutes; it is {power_of(view) or 'in no known state'}"
            )
        sleep(POLL_SECONDS)
        waited += POLL_SECONDS


STAYS = "its disk, and its public address and Bastion if it has them"


def machine_lines(machine: Machine, *, idle_usd: float | None, expires_at: str | None, now: datetime) -> Iterator[str]:
    """`idle_usd`: per hour while deallocated; None: unknown."""
    kind = f"{'Spot ' if machine.spot else ''}{machine.size} in {machine.location}, {'Windows' if machine.windows else 'Linux'}"
    yield f"{machine.name}: {kind}"
    state = shutdown.state(machine.power)
    since = f" since {machine.since.isoformat(timespec='minutes')}" if machine.since else ""
    yield f"  {state.name}{since}{'; ' + state.note if state.note else ''}"
    yield f"  cost: {machine_cost(machine, idle_usd, now.date())}"
    yield from (f"  {line}" for line in _gpus(machine))
    if machine.shutdown.time:
        yield f"  deallocated by Azure each day at {machine.shutdown.time}, {machine.shutdown.zone}"
    else:
        yield "  it is never deallocated automatically"
    if expires_at:
        yield f"  its last day ends at {expires_at}"


def machine_cost(machine: Machine, idle_usd: float | None, today: date) -> str:
    """What it costs as it is now."""
    state = shutdown.state(machine.power)
    stays = f"{idle_usd:g} USD/hour" if idle_usd is not None else "cost unknown"
    if state.billed is False:
        return f"nothing for the machine; still billed: {STAYS} ({stays})"
    price = machine_price(machine)
    hourly = price.text(today) if price is not None else "price unknown"
    return f"{hourly} for the machine, plus {STAYS} ({stays})"


def machine_price(machine: Machine) -> Price | None:
    """The hourly list price; None for Windows, because prices are those of Linux."""
    if machine.windows:
        return None
    book = packaged()
    return book.spot(machine.size, machine.location) if machine.spot else book.on_demand(machine.size, machine.location)


def _gpus(machine: Machine) -> Iterator[str]:
    """The GPUs found by the test at deployment."""
    proof = next((each for each in machine.commands if each.name == PROOF_COMMAND), None)
    if proof is None:
        yield "GPUs: not known; its driver was never tested"
        return
    found = smi.gpus(proof.output)
    if not found:
        yield f"GPUs: the test of its driver found none ({proof.state or 'not run yet'})"
    for index, gpu in enumerate(found):
        driver = f", driver {gpu.driver}" if gpu.driver else ""
        yield f"GPU {index}{driver}, when it was deployed:"
        yield from (f"  {line}" for line in gpu.lines)


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
        start_machine(arm, machine.id)
        machine = machine._replace(power=RUNNING.name, since=None)
    for line in machine_lines(
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
        deallocate_machine(arm, machine.id)
    cost = machine_cost(machine._replace(power=DEALLOCATED.name), found.idle_cost.get(name), datetime.now(UTC).date())
    say(f"{name} is deallocated; cost: {cost}")


def _get(arm: Arm, found: StackView, name: str) -> Machine:
    machine = virtual_machines.get(arm, found.vms[name])
    if machine is None:
        raise GoneError("the machine doesn't exist; it was deleted outside the stack, or evicted as a Spot machine")
    return machine
