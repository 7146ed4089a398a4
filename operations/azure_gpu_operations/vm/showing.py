"""A machine in words: whether it runs and is paid for, what stays when it doesn't, its GPUs, its shutdown and its end.

In: a `Machine`, and what the stack says of it. Out: lines. Pure.
"""

from collections.abc import Iterator
from datetime import date, datetime

from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.catalog.services.machines import power, smi
from azure_gpu.catalog.services.machines.smi import PROOF_COMMAND
from azure_gpu_operations.virtual_machines import Machine

STAYS = "its disk, and where it has them a public address and a Bastion"


def lines(machine: Machine, *, idle_usd: float | None, expires_at: str | None, now: datetime) -> Iterator[str]:
    """`idle_usd`: an hour, while it is deallocated; None: not known."""
    kind = f"{'Spot ' if machine.spot else ''}{machine.size} in {machine.location}, {'Windows' if machine.windows else 'Linux'}"
    yield f"{machine.name}: {kind}"
    state = power.state(machine.power)
    since = f" since {machine.since.isoformat(timespec='minutes')}" if machine.since else ""
    yield f"  {state.name}{since}{'; ' + state.note if state.note else ''}"
    yield f"  cost: {cost(machine, idle_usd, now.date())}"
    yield from (f"  {line}" for line in _gpus(machine))
    if machine.shutdown.time:
        yield f"  deallocated by Azure each day at {machine.shutdown.time}, {machine.shutdown.zone}"
    else:
        yield "  nothing deallocates it by itself"
    if expires_at:
        yield f"  its last day ends at {expires_at}"


def cost(machine: Machine, idle_usd: float | None, today: date) -> str:
    """What it costs as it is now."""
    state = power.state(machine.power)
    stays = f"{idle_usd:g} USD/hour" if idle_usd is not None else "how much isn't known"
    if state.billed is False:
        return f"nothing for the machine; {STAYS} go on ({stays})"
    price = price_of(machine)
    told = price.text(today) if price is not None else "its price isn't known"
    return f"{told} for the machine, and {STAYS} ({stays})"


def price_of(machine: Machine) -> Price | None:
    """The list price of an hour. Prices are those of Linux."""
    if machine.windows:
        return None
    book = packaged()
    return book.spot(machine.size, machine.location) if machine.spot else book.on_demand(machine.size, machine.location)


def _gpus(machine: Machine) -> Iterator[str]:
    """What the machine proved when it was brought up."""
    proof = next((each for each in machine.commands if each.name == PROOF_COMMAND), None)
    if proof is None:
        yield "GPUs: it was never asked to prove its driver"
        return
    found = smi.gpus(proof.output)
    if not found:
        yield f"GPUs: its driver isn't proved ({proof.state or 'no word yet'})"
    for index, gpu in enumerate(found):
        driver = f", driver {gpu.driver}" if gpu.driver else ""
        yield f"GPU {index}{driver}, when it was brought up:"
        yield from (f"  {line}" for line in gpu.lines)
