"""The usage of a node's GPUs, derived from what the containers that see a GPU use of this machine.

The result is a node's processes with their memory, and shares of time. A GPU that is emulated has no counters of its own. So the
time of a container's processes, out of one processor's, is its GPUs' utilisation, and their resident memory is the GPUs' memory;
what runs nothing uses nothing. Shells count for nothing, as they use no GPU. Read from `/proc`; without one everything is idle.
Only the standard library, as it is loaded for each call of nvidia-smi.
"""

# ruff: noqa: PTH123, PTH208 - one look at all processes; pathlib would cost it half its time

import os
import re
import time

SAMPLE_SECONDS = 0.1
_WITHOUT_GPU = frozenset(("sh", "bash", "dash", "busybox", "sleep", "tee", "cat", "nvidia-smi"))
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_MIB = 1024 * 1024


class Process:
    """A process of a container that sees GPUs."""

    def __init__(self, pid, name, container, memory_mib, ticks):
        self.pid = pid
        self.name = name  # its program
        self.container = container  # "<pod's uid>/<container's name>"
        self.memory_mib = memory_mib
        self.ticks = ticks  # of processor time since it began
        self.share = 0.0  # of a processor's time, lately


def processes(folder):
    """Those that run now in containers that `folder` (`…/programs`) knows, told by the PATH that they have."""
    marker = re.compile(re.escape(os.fsencode(folder)) + rb"/([^/:]+)/([^/:]+)")
    found = []
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    for pid in pids:
        one = _look(pid, marker)
        if one is not None:
            found.append(one)
    return found


def _look(pid, marker):
    if pid == os.getpid():
        return None
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            match = marker.search(file.read())
        if match is None:
            return None
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            name, _, rest = file.read().partition("(")[2].rpartition(")")
        fields = rest.split()
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            program = os.fsdecode(file.read().split(b"\0")[0])
    except OSError:
        return None  # it has ended, or is another user's
    if name in _WITHOUT_GPU or fields[0] == "Z":
        return None
    container = f"{os.fsdecode(match[1])}/{os.fsdecode(match[2])}"
    return Process(pid, program or name, container, int(fields[21]) * _PAGE // _MIB, int(fields[11]) + int(fields[12]))


def sampled(folder, seconds=SAMPLE_SECONDS, wait=time.sleep):
    """The processes with the share of a processor's time that each had within the next `seconds`."""
    before = {one.pid: one.ticks for one in processes(folder)}
    if not before:
        return []
    wait(seconds)
    now = processes(folder)
    for one in now:
        one.share = max(0.0, (one.ticks - before.get(one.pid, one.ticks)) / _TICKS / seconds)
    return now


def of_gpu(gpu, containers, found):
    """(utilisation in per cent, MiB in use) of one GPU. `containers`: by their key the ids of the GPUs and instances they see."""
    share, memory = 0.0, 0
    ids = {gpu["uuid"], *(one["uuid"] for one in gpu["instances"])}
    for one in found:
        seen = containers.get(one.container, {"ids": []})["ids"]
        if seen and ids & set(seen):
            share += one.share / len(seen)
            memory += one.memory_mib // len(seen)
    return min(100, round(100 * share)), min(gpu["memory_mib"], memory)


def of_instance(instance, containers, found):
    """MiB in use of one MIG instance."""
    memory = 0
    for one in found:
        seen = containers.get(one.container, {"ids": []})["ids"]
        if instance["uuid"] in seen:
            memory += one.memory_mib // len(seen)
    return min(instance["memory_mib"], memory)
