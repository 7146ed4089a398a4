"""Describes the device of a training: a GPU, in the form of TensorFlow's log, or the CPU.

The values come from TensorFlow, `nvidia-smi` and the operating system; missing ones are printed as unknown.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path

UNKNOWN = "unknown"
_FIELDS = ("clocks.max.memory", "pci.bus_id", "memory.total", "memory.free")  # MHz, and MiB
_SMI_TIMEOUT = 20  # seconds; a driver that has just been loaded takes several


def lines(details: Mapping[str, object], smi_row: str, index: int = 0) -> list[str]:
    """The lines of the log, in the form of the TensorFlow of 2018. `details`: TensorFlow's `get_device_details`; `smi_row`: what
    `query_nvidia_smi` returns. Either may be empty."""
    cells = [cell.strip() for cell in smi_row.split(",")]
    clock, bus, total, free = cells if len(cells) == len(_FIELDS) else [""] * len(_FIELDS)
    capability = details.get("compute_capability")
    major, minor = capability if isinstance(capability, tuple) else (UNKNOWN, UNKNOWN)
    return [
        f"Found device {index} with properties:",
        f"name: {details.get('device_name') or UNKNOWN} major: {major} minor: {minor} "
        f"memoryClockRate(GHz): {_number(clock, 1000, '.4g')}",
        f"pciBusID: {bus.lower() if ':' in bus else UNKNOWN}",
        f"totalMemory: {_number(total, 1024, '.2f', 'GiB')} freeMemory: {_number(free, 1024, '.2f', 'GiB')}",
    ]


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
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return UNKNOWN
    return next((line.partition(":")[2].strip() for line in text if line.startswith("model name")), UNKNOWN)


def _number(text: str, divisor: int, form: str, unit: str = "") -> str:
    try:
        return f"{float(text) / divisor:{form}}{unit}"
    except ValueError:  # "[N/A]", "[Not Supported]"
        return UNKNOWN
