"""Power states of a virtual machine, and what each costs: a machine that was shut down from inside goes on being billed.

In: the code of a state, as the machine's instance view has it, `PowerState/running`. Out: a `State`.
"""

from datetime import date
from typing import NamedTuple

from azure_gpu.catalog.sources import Dated, Source

PAGE = Source("MicrosoftDocs/azure-compute-docs, articles/virtual-machines/states-billing.md", Dated.OBSERVED, date(2023, 10, 31))
PREFIX = "PowerState/"


class State(NamedTuple):
    """One state. `billed` None: nobody knows."""

    name: str
    billed: bool | None
    note: str = ""


RUNNING = State("running", billed=True)
STOPPED = State(
    "stopped", billed=True, note="it was shut down from inside, and Azure keeps its place: deallocate it to stop paying"
)
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
    """The state of `PowerState/running`; what isn't known is named as it is."""
    name = code.removeprefix(PREFIX)
    return STATES.get(name) or State(name or "unknown", billed=None)
