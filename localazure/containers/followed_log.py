"""Follows a container's log, also when its older half is dropped.

New content is returned as lines with their times, or as whole lines without them.
"""

import os
from pathlib import Path

from localazure.containers.shim_log import STAMP


class FollowedLog:
    """Where a reader of the log is: behind `_last`, what was read last. `whole`: a line that hasn't ended waits for its end."""

    def __init__(self, file: Path, *, whole: bool = True) -> None:
        self._file = file
        self._whole = whole
        self._place = 0
        self._inode = 0
        self._last = b""

    def read_on(self, *, ended: bool = False) -> bytes:
        """What was written since the last time, without the times."""
        return b"".join(line[STAMP:] for line in self.lines(ended=ended))

    def lines(self, *, ended: bool = False) -> list[bytes]:
        """The lines since the last time, ended only by line feeds. `ended`: nothing follows, the last one is whole too."""
        try:
            with self._file.open("rb") as log:
                status = os.fstat(log.fileno())
                if status.st_size < self._place or status.st_ino != self._inode:  # another file: the newer half of the one before
                    self._inode, self._place = status.st_ino, self._behind(log.read())
                log.seek(self._place)
                content = log.read()
        except FileNotFoundError:
            return []
        if self._whole and not ended:
            content = content[: content.rfind(b"\n") + 1]
        if not content:
            return []
        self._place += len(content)
        found = content.split(b"\n")
        lines = [line + b"\n" for line in found[:-1]] + ([found[-1]] if found[-1] else [])
        self._last = lines[-1]
        return lines

    def _behind(self, content: bytes) -> int:
        """Where what was read last ends; the beginning where it was dropped too."""
        found = content.rfind(self._last) if self._last else -1
        return 0 if found < 0 else found + len(self._last)
