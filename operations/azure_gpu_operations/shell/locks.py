"""A lock between processes. The operating system releases it when the holder ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from azure_gpu_operations.shell.messages import Say


@contextmanager
def exclusive_lock(path: Path, waiting: str, say: Say) -> Iterator[None]:
    """Holds the lock file `path`; shows `waiting` if another process holds it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(waiting)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
