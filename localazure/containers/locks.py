"""Locks for work that only one process of this machine does at a time, such as making a shared environment."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

POLL_SECONDS = 0.1


@asynccontextmanager
async def alone(path: Path) -> AsyncIterator[None]:
    """Holds the lock file `path`. It ends with the process that holds it, so a killed build leaves nothing locked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        while not taken(handle):
            await asyncio.sleep(POLL_SECONDS)
        yield
    finally:
        os.close(handle)


def taken(handle: int) -> bool:
    """Takes the lock if nobody has it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
