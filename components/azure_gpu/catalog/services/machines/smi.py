"""The nvidia-smi query for a machine's GPUs, and its answer, shared by the program that runs it and the one that reads it.

`Gpu.lines` are the lines in which TensorFlow of 2017 logged a GPU, as in the second source document. Unknown values are None.
"""

from typing import NamedTuple

FIELDS = ("name", "compute_cap", "clocks.max.memory", "pci.bus_id", "memory.total", "memory.free", "driver_version")
ARGUMENTS = f"--query-gpu={','.join(FIELDS)} --format=csv,noheader,nounits"
PROOF_FILE = "/var/lib/azure-gpu/driver"  # where a machine writes the state and the answer at every start
PROOF_COMMAND = "prove-driver"  # the run-command that waits for it
WAITING, PROVED, FAILED = "state: waiting", "state: proved", "state: failed"  # the first line of PROOF_FILE
UNKNOWN = "unknown"


class Gpu(NamedTuple):
    """One GPU. Sizes in MiB, clock in MHz."""

    name: str
    compute_capability: str  # 7.5; empty: not known
    memory_clock: float | None
    bus_id: str  # empty: not known
    total_memory: float | None
    free_memory: float | None
    driver: str  # empty: not known

    @property
    def lines(self) -> tuple[str, ...]:
        """Five lines, as the document has them."""
        major, _, minor = self.compute_capability.partition(".")
        clock = UNKNOWN if self.memory_clock is None else f"{self.memory_clock / 1000:.4g}"
        return (
            f"name: {self.name}",
            f"major: {major or UNKNOWN} minor: {minor or UNKNOWN} memoryClockRate (GHz) {clock}",
            f"pciBusID {self.bus_id or UNKNOWN}",
            f"Total memory: {_gib(self.total_memory)}",
            f"Free memory: {_gib(self.free_memory)}",
        )


def gpus(answer: str) -> list[Gpu]:
    """The GPUs in an answer to `ARGUMENTS`; other lines are ignored."""
    rows = [[cell.strip() for cell in line.split(",")] for line in answer.splitlines()]
    return [_gpu(cells) for cells in rows if len(cells) == len(FIELDS) and cells[0]]


def _gpu(cells: list[str]) -> Gpu:
    name, capability, clock, bus, total, free, driver = cells
    return Gpu(
        name=name,
        compute_capability=capability if capability.replace(".", "", 1).isdigit() else "",
        memory_clock=_number(clock),
        bus_id=_bus(bus),
        total_memory=_number(total),
        free_memory=_number(free),
        driver=driver if driver[:1].isdigit() else "",
    )


def _bus(text: str) -> str:
    """A bus id such as `00000001:00:00.0` with a domain of four digits, as TensorFlow writes it; empty if it isn't a bus id."""
    domain, colon, rest = text.lower().partition(":")
    return f"{domain[-4:]}:{rest}" if colon and domain else ""


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:  # "[N/A]", "[Not Supported]"
        return None


def _gib(mebibytes: float | None) -> str:
    return UNKNOWN if mebibytes is None else f"{mebibytes / 1024:.2f}GiB"
