"""A file lock between processes: the system releases it when its holder ends."""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from localazure.errors import CommandError


@contextlib.contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[None]:
    """Holds the lock on `path`. CommandError where another process holds it and `wait` is false."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise CommandError(f"a server already runs for {path.parent}") from error
        yield
