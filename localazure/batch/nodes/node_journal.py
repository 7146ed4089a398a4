"""Records a node's processes in a file that outlives it, so that those of a killed node can be ended.

A command's process group is in the file. What has left its group, as a daemon does, is known by the node's folder in its
environment; it goes with the node, as it would with a machine.

Standard library only, and little of it: every node has a journal. A line is `+ PID START-TIME` or `- PID`.
"""

# ruff: noqa: PTH105, PTH108, PTH112, PTH118, PTH123, PTH208, SIM105 - pathlib and contextlib would cost every node its memory

import os
import signal

from localazure.containers import shim_processes as processes

NAME = "journal"
MARKS = (b"AZ_BATCH_NODE_ROOT_DIR=", b"LOCAL_MACHINE_ROOT=")  # of a Batch node, and of a virtual machine
MOST_BYTES = 256 * 1024


class Journal:
    """The file in the working folder, begun or gone on with."""

    def __init__(self):
        self._file = open(NAME, "ab", buffering=0)  # noqa: SIM115 - open for as long as the node lives

    def started(self, pid):
        self._file.write(_line(pid))

    def ended(self, pid):
        self._file.write(f"- {pid}\n".encode())

    def shorten(self, running):
        """Keeps what still runs, where the file has grown long. `running` gives the process ids."""
        if self._file.tell() <= MOST_BYTES:
            return
        with open(f"{NAME}.new", "wb") as file:
            for pid in running():
                file.write(_line(pid))
        os.replace(f"{NAME}.new", NAME)
        self._file.close()
        self._file = open(NAME, "ab", buffering=0)  # noqa: SIM115

    def remove(self):
        self._file.close()
        _unlink(NAME)


def settle(folder):
    """Ends what a node that was killed has left running."""
    path = f"{folder}/{NAME}"
    for pid, started in left(path):
        if started and processes.start_time(pid) == started:
            processes.signal_group(pid, signal.SIGKILL)
    _unlink(path)
    for pid in daemons(folder):
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def daemons(folder):
    """The processes that have this node's root folder in their environment. Where there is no /proc none is found."""
    root, found = os.path.realpath(os.path.join(folder, "root")), []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    values = [each.partition(b"=")[2] for each in file.read().split(b"\0") if each.startswith(MARKS)]
                if root in [os.path.realpath(os.fsdecode(value)) for value in values]:
                    found.append(int(name))
            except OSError:
                continue  # gone, or somebody else's
    return found


def left(path):
    """The processes, with their start times, that a journal knows the start and not the end of."""
    found = {}
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                sign, pid, started = [*line.split(), "", "", ""][:3]
                if sign == "+":
                    found[pid] = started
                else:
                    found.pop(pid, None)
    except FileNotFoundError:
        pass
    return [(int(pid), started) for pid, started in found.items() if pid.isdigit()]


def _line(pid):
    return f"+ {pid} {processes.start_time(pid)}\n".encode()


def _unlink(path):
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
