"""Describes a machine in lines: power state, cost, GPUs, shutdown schedule and last day. Pure."""

from collections.abc import Iterator
from datetime import date, datetime

from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.catalog.services.machines import shutdown, smi
from azure_gpu.catalog.services.machines.smi import PROOF_COMMAND
from azure_gpu_operations.virtual_machines import Machine

STAYS = "its disk, and its public address and Bastion if it has them"


def lines(machine: Machine, *, idle_usd: float | None, expires_at: str | None, now: datetime) -> Iterator[str]:
    """`idle_usd`: per hour while deallocated; None: unknown."""
    kind = f"{'Spot ' if machine.spot else ''}{machine.size} in {machine.location}, {'Windows' if machine.windows else 'Linux'}"
    yield f"{machine.name}: {kind}"
    state = shutdown.state(machine.power)
    since = f" since {machine.since.isoformat(timespec='minutes')}" if machine.since else ""
    yield f"  {state.name}{since}{'; ' + state.note if state.note else ''}"
    yield f"  cost: {cost(machine, idle_usd, now.date())}"
    yield from (f"  {line}" for line in _gpus(machine))
    if machine.shutdown.time:
        yield f"  deallocated by Azure each day at {machine.shutdown.time}, {machine.shutdown.zone}"
    else:
        yield "  it is never deallocated automatically"
    if expires_at:
        yield f"  its last day ends at {expires_at}"


def cost(machine: Machine, idle_usd: float | None, today: date) -> str:
    """What it costs as it is now."""
    state = shutdown.state(machine.power)
    stays = f"{idle_usd:g} USD/hour" if idle_usd is not None else "cost unknown"
    if state.billed is False:
        return f"nothing for the machine; still billed: {STAYS} ({stays})"
    price = price_of(machine)
    hourly = price.text(today) if price is not None else "price unknown"
    return f"{hourly} for the machine, plus {STAYS} ({stays})"


def price_of(machine: Machine) -> Price | None:
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
