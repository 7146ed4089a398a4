"""What `kubectl logs` asks of a container's log: its end, since when, with times, no more than so many bytes, and on and on.

In: the log of a run, as a shim writes it: each line behind its time. Out: bytes, in pieces.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

from localazure.containers.shim_log import STAMP

_POLL_SECONDS = 0.05
_CHUNK = 1 << 16


class Asked(NamedTuple):
    """As the API has it."""

    follow: bool = False
    tail: int | None = None
    since: str = ""  # lines of this time or later, as the log writes times
    timestamps: bool = False
    limit: int | None = None


async def told(log: Path, asked: Asked, ended: Callable[[], bool]) -> AsyncIterator[bytes]:
    """`ended`: the run whose log it is has ended, so that nothing more comes."""
    left = asked.limit
    async for piece in _all(log, asked, ended):
        if left is None:
            yield piece
            continue
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            return


async def _all(log: Path, asked: Asked, ended: Callable[[], bool]) -> AsyncIterator[bytes]:
    reader = _Reader(log)
    over = ended()
    lines = await asyncio.to_thread(reader.read_on)
    if asked.tail is not None:
        lines = lines[len(lines) - min(asked.tail, len(lines)) :]
    while True:
        shown = b"".join(_shown(line, asked) for line in lines)
        for start in range(0, len(shown), _CHUNK):
            yield shown[start : start + _CHUNK]
        if not asked.follow or (over and not lines):
            return
        if not lines:
            await asyncio.sleep(_POLL_SECONDS)
        over = ended()
        lines = await asyncio.to_thread(reader.read_on)


class _Reader:
    """Where a reader of the log is: behind `_last`, what was read last."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._place = 0
        self._inode = 0
        self._last = b""

    def read_on(self) -> list[bytes]:
        """The lines since the last time; the newest may not be whole yet."""
        try:
            with self._log.open("rb") as file:
                status = os.fstat(file.fileno())
                if self._inode and status.st_ino != self._inode:  # its older half was dropped: this is the newer one
                    self._place = self._behind(file.read())
                self._inode = status.st_ino
                file.seek(self._place)
                content = file.read()
        except FileNotFoundError:
            return []
        if not content:
            return []
        self._place += len(content)
        lines = _lines(content)
        self._last = lines[-1]
        return lines

    def _behind(self, content: bytes) -> int:
        found = content.rfind(self._last) if self._last else -1
        return 0 if found < 0 else found + len(self._last)


def _lines(content: bytes) -> list[bytes]:
    """Ended by line feeds alone."""
    found = content.split(b"\n")
    return [line + b"\n" for line in found[:-1]] + ([found[-1]] if found[-1] else [])


def _shown(line: bytes, asked: Asked) -> bytes:
    stamped = len(line) > STAMP - 1 and line[4:5] == b"-" and line[STAMP - 2 : STAMP - 1] == b"Z"
    if not stamped:  # the rest of a line whose beginning was read before
        return line
    if asked.since and line[: STAMP - 1].decode("ascii", errors="replace") < asked.since:
        return b""
    return line if asked.timestamps else line[STAMP:]
