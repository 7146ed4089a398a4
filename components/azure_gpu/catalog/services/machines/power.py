"""Power states of a virtual machine, and whether each is billed: a machine that was shut down from inside is."""

from datetime import date
from typing import NamedTuple

from azure_gpu.catalog.sources import Dated, Source

PAGE = Source("MicrosoftDocs/azure-compute-docs, articles/virtual-machines/states-billing.md", Dated.OBSERVED, date(2023, 10, 31))
PREFIX = "PowerState/"


class State(NamedTuple):
    """One state. `billed` None: unknown."""

    name: str
    billed: bool | None
    note: str = ""


RUNNING = State("running", billed=True)
STOPPED = State("stopped", billed=True, note="it was shut down from inside and stays allocated: deallocate it to stop paying")
DEALLOCATED = State("deallocated", billed=False)
STATES: dict[str, State] = {
    state.name: state
    for state in (
        State("creating", billed=False),
        State("starting", billed=True),
        RUNNING,
        State("stopping", billed=True),
        STOPPED,
        State("deallocating", billed=False),
        DEALLOCATED,
    )
}


def state(code: str) -> State:
    """The state of `PowerState/running`; an unknown state has its own name."""
    name = code.removeprefix(PREFIX)
    return STATES.get(name) or State(name or "unknown", billed=None)
