"""A process known by its id and its start time, so that a reused id is never taken for it.

The start time comes from `/proc` where there is one and from `ps -o lstart=` elsewhere (macOS). It is text to compare, no more.
"""

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process, past or present."""

    pid: int
    started: str  # as `start_time` gave it

    @property
    def alive(self) -> bool:
        return bool(self.started) and start_time(self.pid) == self.started

    def end(self, deadline_seconds: float, *, group: bool = False) -> bool:
        """Asks it to end, and kills it where it hasn't by the deadline. `group`: with all processes of its group.

        Returns whether it ended by itself.
        """
        self._signal(signal.SIGTERM, group)
        if self.wait(deadline_seconds):
            return True
        self._signal(signal.SIGKILL, group)
        self.wait(deadline_seconds)
        return False

    def wait(self, deadline_seconds: float) -> bool:
        """Waits until it is gone. False where it is still there at the deadline."""
        deadline = time.monotonic() + deadline_seconds
        while self.alive:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def _signal(self, number: signal.Signals, group: bool) -> None:
        if not self.alive:
            return
        try:
            if group:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)
        except ProcessLookupError:
            return


def this_process() -> ProcessId:
    return ProcessId(os.getpid(), start_time(os.getpid()))


def start_time(pid: int) -> str:
    """When the process `pid` started; "" where there is none. A process that has ended and was not collected counts as none."""
    if not Path("/proc/self/stat").exists():
        return _start_time_by_ps(pid)
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    fields = stat.rpartition(")")[2].split()  # the name in parentheses may itself hold spaces
    state, start = fields[0], fields[19]  # proc(5): fields 3 and 22
    return "" if state in "ZX" else f"{_boot_id()}:{start}"


def _boot_id() -> str:
    """The start time counts from boot; after a reboot the same number means another process."""
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text(encoding="ascii").strip() if path.exists() else ""


def _start_time_by_ps(pid: int) -> str:
    requested = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    shown = subprocess.run(requested, capture_output=True, text=True, check=False).stdout
    state, _, start = shown.strip().partition(" ")
    return "" if not start or state.startswith("Z") else start.strip()
