"""Processes that outlive the embedded Azure, such as a container's shim: which one owns a folder, and signals to it.

In the folder: `lock`, held for as long as the process lives; its id is in it. Each leads a separate session.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from localazure.containers import locks


def holder(folder: Path) -> int | None:
    """The id of the process that stands over a folder; 0 where it hasn't written it yet, None where there is none."""
    try:
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        if locks.taken(handle):
            return None
        return int(os.read(handle, 32) or b"0")
    finally:
        os.close(handle)


def signal_leader(pid: int, number: signal.Signals) -> None:
    """A process and what it started. Each of ours leads a separate session; a process that doesn't is none of ours."""
    try:
        if pid and os.getsid(pid) == pid:
            os.killpg(pid, number)
    except ProcessLookupError:
        return


async def ended(folder: Path, number: signal.Signals, seconds: float, poll: float) -> int | None:
    """Asks the process over a folder to end, and whoever takes its place meanwhile. Its id where it is still there in the end."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    told = 0
    while (pid := holder(folder)) is not None and loop.time() < deadline:
        if pid and pid != told:
            signal_leader(pid, number)
            told = pid
        await asyncio.sleep(poll)
    return pid


_children: set["asyncio.Task[int]"] = set()  # so that ended ones are collected


async def spawn(program: str, folder: Path, complaints: str) -> asyncio.subprocess.Process:
    """Starts one of them in its folder, with only the standard library. `complaints`: the file for its own error output."""
    with (folder / complaints).open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-S",
            program,
            str(folder),
            cwd=folder,
            env={"PATH": os.defpath, "LANG": "C.UTF-8"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    collecting = asyncio.create_task(process.wait())
    _children.add(collecting)
    collecting.add_done_callback(_children.discard)
    return process
