"""What a container has left running in sessions of its own, such as daemons: it ends with the container.

Told by the variables that every process of a container inherits, also one that was started beside it by `kubectl exec`. Where
there is no `/proc` (macOS) nothing is found.
"""

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path


def end(folder: Path) -> None:
    """Kills the processes of a run whose folder this is. Its shim isn't among them: it has other variables."""
    mark = b"=" + os.fsencode(folder / "home")
    _kill(lambda variable: variable.endswith(mark))


def end_all(pods: Path) -> None:
    """The same for all runs of all pods below a folder."""
    mark = b"=" + os.fsencode(pods) + b"/"
    _kill(lambda variable: mark in variable and variable.endswith(b"/home"))


def _kill(is_ours: Callable[[bytes], bool]) -> None:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            variables = (process / "environ").read_bytes()
        except OSError:
            continue  # it has ended, or is another's
        if any(is_ours(one) for one in variables.split(b"\0")):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(process.name), signal.SIGKILL)
