"""A container's log read on and on, also over the moment in which its older half is dropped.

In: the file that a shim writes. Out: what is new in it, without the times, whole lines only.
"""

import os
from pathlib import Path

from localazure.containers.shim_log import STAMP


class FollowedLog:
    """Where a reader of the log is: behind `_last`, the line read last."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._place = 0
        self._inode = 0
        self._last = b""

    def read_on(self) -> bytes:
        """The lines since the last time."""
        try:
            with self._file.open("rb") as log:
                status = os.fstat(log.fileno())
                if status.st_size < self._place or status.st_ino != self._inode:  # another file: the newer half of the one before
                    self._inode, self._place = status.st_ino, self._behind(log.read())
                log.seek(self._place)
                chunk = log.read()
        except FileNotFoundError:
            return b""
        whole = chunk[: chunk.rfind(b"\n") + 1]
        if not whole:
            return b""
        self._place += len(whole)
        lines = whole[:-1].split(b"\n")
        self._last = lines[-1] + b"\n"
        return b"".join(line[STAMP:] + b"\n" for line in lines)

    def _behind(self, content: bytes) -> int:
        """Where the line read last ends; the beginning where it was dropped too."""
        found = content.rfind(self._last) if self._last else -1
        return 0 if found < 0 else found + len(self._last)
