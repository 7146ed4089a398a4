"""Queries of nvidia-smi, and parsers of their output. Pure. Values such as [N/A] are None.

A container sees its own GPUs, and processes only with `hostPID`; without it the use of the GPU counts as the pod's. Source:
NVIDIA, nvidia-smi(1): --query-gpu, --query-compute-apps, pmon.
"""

from collections.abc import Iterable
from typing import NamedTuple

from azure_gpu_operations.gpu_usage.reading import GpuUse

GPUS = (
    "nvidia-smi",
    "--query-gpu=index,uuid,name,utilization.gpu,memory.used,memory.total",
    "--format=csv,noheader,nounits",
)
PROCESSES = ("nvidia-smi", "--query-compute-apps=gpu_uuid,pid,used_memory", "--format=csv,noheader,nounits")
SHARES = ("nvidia-smi", "pmon", "-c", "1", "-s", "u")


class Process(NamedTuple):
    """One program on one GPU."""

    gpu_uuid: str
    pid: int
    used_mib: float | None


def gpus(text: str, node: str) -> list[GpuUse]:
    found: list[GpuUse] = []
    for cells in _rows(text):
        if len(cells) == 6 and cells[0].isdecimal():
            index, uuid, name, utilisation, used, total = cells
            found.append(GpuUse(node, index, name, _number(utilisation), _number(used), _number(total), uuid))
    return found


def processes(text: str) -> list[Process]:
    return [
        Process(cells[0], int(cells[1]), _number(cells[2])) for cells in _rows(text) if len(cells) == 3 and cells[1].isdecimal()
    ]


def shares(text: str) -> dict[int, float]:
    """Percent of its GPU by process id. Columns are found by the heading, because they differ between versions."""
    heading: list[str] = []
    found: dict[int, float] = {}
    for line in text.splitlines():
        cells = line.split()
        if line.startswith("#"):
            heading = heading or [each.lower() for each in cells[1:]]
            continue
        if len(cells) < len(heading) or "pid" not in heading or "sm" not in heading:
            continue
        pid, share = cells[heading.index("pid")], _number(cells[heading.index("sm")])
        if pid.isdecimal() and share is not None:
            found[int(pid)] = found.get(int(pid), 0.0) + share
    return found


def own_memory(found: Iterable[Process]) -> float | None:
    known = [each.used_mib for each in found if each.used_mib is not None]
    return sum(known) if known else None


def _rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
