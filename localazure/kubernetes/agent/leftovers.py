"""What containers and pods have left running: daemons in sessions of their own end with their container, pods that were deleted
while no agent ran with the next agent's start.

Daemons are told by the variables that every process of a container inherits, also one that was started beside it by
`kubectl exec`. Where there is no `/proc` (macOS) nothing is found.
"""

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

from localazure.containers import supervision


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


_SECONDS, _POLL_SECONDS = 3.0, 0.05


async def end_orphans(pods: Path, known: Iterable[str]) -> None:
    """`pods`: a folder for each pod by uid. `known`: those that are there."""
    kept = set(known)
    await asyncio.gather(*(end_pod(folder) for folder in pods.glob("*/") if folder.name not in kept))


async def end_pod(pod: Path) -> None:
    """What a pod's folder tells of ends, and the folder goes."""
    runs = [spec.parent for spec in pod.glob("*/spec.json")]
    loop = asyncio.get_running_loop()
    until = loop.time() + _SECONDS
    for run in runs:
        supervision.signal_leader(supervision.holder(run) or 0, signal.SIGTERM)
        await asyncio.to_thread((run / "spec.json").unlink, missing_ok=True)  # a shim without it ends, with its container
    while any(supervision.holder(run) is not None for run in runs) and loop.time() < until:
        await asyncio.sleep(_POLL_SECONDS)
    for run in runs:
        await asyncio.to_thread(end, run)
    await asyncio.to_thread(shutil.rmtree, pod, ignore_errors=True)
