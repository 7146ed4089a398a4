"""Describes the device of a training: a GPU, in the form of TensorFlow's log, or the CPU.

The values come from TensorFlow, `nvidia-smi` and the operating system; missing ones are printed as unknown.
"""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_UNKNOWN = "unknown"
_FIELDS = ("clocks.max.memory", "pci.bus_id", "memory.total", "memory.free")
_SMI_TIMEOUT = 20  # seconds; a driver that has just been loaded takes several


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. Sizes in MiB, clock in MHz; None where unknown."""

    name: str | None
    compute_capability: tuple[int, int] | None
    pci_bus_id: str | None = None
    memory_clock: float | None = None
    total_memory: float | None = None
    free_memory: float | None = None

    def lines(self, index: int = 0) -> list[str]:
        """The lines of the log, in the form of the TensorFlow of 2018."""
        major, minor = self.compute_capability or (_UNKNOWN, _UNKNOWN)
        clock = _UNKNOWN if self.memory_clock is None else f"{self.memory_clock / 1000:.4g}"
        return [
            f"Found device {index} with properties:",
            f"name: {self.name or _UNKNOWN} major: {major} minor: {minor} memoryClockRate(GHz): {clock}",
            f"pciBusID: {self.pci_bus_id or _UNKNOWN}",
            f"totalMemory: {_gib(self.total_memory)} freeMemory: {_gib(self.free_memory)}",
        ]


def describe(details: Mapping[str, object], smi_row: str) -> Gpu:
    """Joins TensorFlow's `get_device_details` with one row that `nvidia-smi` prints for `_FIELDS`; either may be empty."""
    cells = [cell.strip() for cell in smi_row.split(",")]
    clock, bus, total, free = cells if len(cells) == len(_FIELDS) else [""] * len(_FIELDS)
    name = details.get("device_name")
    capability = details.get("compute_capability")
    return Gpu(
        name=name if isinstance(name, str) else None,
        compute_capability=(capability[0], capability[1]) if isinstance(capability, tuple) else None,
        pci_bus_id=bus.lower() if ":" in bus else None,
        memory_clock=_number(clock),
        total_memory=_number(total),
        free_memory=_number(free),
    )


def query_nvidia_smi(device: str) -> str:
    """One row for `device`, an index or a UUID as in CUDA_VISIBLE_DEVICES; empty if nvidia-smi fails."""
    command = ["nvidia-smi", f"--id={device}", f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_SMI_TIMEOUT, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()


def cpu_name() -> str:
    """The processor's name, as Linux gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return _UNKNOWN
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), _UNKNOWN)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:  # "[N/A]", "[Not Supported]"
        return None


def _gib(mebibytes: float | None) -> str:
    return _UNKNOWN if mebibytes is None else f"{mebibytes / 1024:.2f}GiB"
