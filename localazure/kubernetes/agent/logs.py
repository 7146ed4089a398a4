"""A container's log as `kubectl logs` reads it: the last lines, since a time, with timestamps, up to a number of bytes, followed.

A shim writes the log of a run, each line behind its time.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

from localazure.containers.followed_log import FollowedLog
from localazure.containers.shim_log import STAMP

_POLL_SECONDS = 0.05
_CHUNK = 1 << 16


class LogOptions(NamedTuple):
    """The options of a request for a log, as in the API."""

    follow: bool = False
    tail: int | None = None
    since: str = ""  # lines of this time or later, as the log writes times
    timestamps: bool = False
    limit: int | None = None


async def told(log: Path, options: LogOptions, ended: Callable[[], bool]) -> AsyncIterator[bytes]:
    """`ended`: the run whose log it is has ended, so that nothing more comes."""
    left = options.limit
    async for piece in _all(log, options, ended):
        if left is None:
            yield piece
            continue
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            return


async def _all(log: Path, options: LogOptions, ended: Callable[[], bool]) -> AsyncIterator[bytes]:
    reader = FollowedLog(log, whole=False)
    over = ended()
    lines = await asyncio.to_thread(reader.lines)
    if options.tail is not None:
        lines = lines[len(lines) - min(options.tail, len(lines)) :]
    while True:
        shown = b"".join(_shown(line, options) for line in lines)
        for start in range(0, len(shown), _CHUNK):
            yield shown[start : start + _CHUNK]
        if not options.follow or (over and not lines):
            return
        if not lines:
            await asyncio.sleep(_POLL_SECONDS)
        over = ended()
        lines = await asyncio.to_thread(reader.lines)


def _shown(line: bytes, options: LogOptions) -> bytes:
    stamped = len(line) > STAMP - 1 and line[4:5] == b"-" and line[STAMP - 2 : STAMP - 1] == b"Z"
    if not stamped:  # the rest of a line whose beginning was read before
        return line
    if options.since and line[: STAMP - 1].decode("ascii", errors="replace") < options.since:
        return b""
    return line if options.timestamps else line[STAMP:]
