"""What `kubectl logs` asks of a container's log: its end, since when, with times, no more than so many bytes, and on and on.

In: the log of a run, as a shim writes it: each line behind its time. Out: bytes, in pieces.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

from localazure.containers.followed_log import FollowedLog
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
    reader = FollowedLog(log, whole=False)
    over = ended()
    lines = await asyncio.to_thread(reader.lines)
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
        lines = await asyncio.to_thread(reader.lines)


def _shown(line: bytes, asked: Asked) -> bytes:
    stamped = len(line) > STAMP - 1 and line[4:5] == b"-" and line[STAMP - 2 : STAMP - 1] == b"Z"
    if not stamped:  # the rest of a line whose beginning was read before
        return line
    if asked.since and line[: STAMP - 1].decode("ascii", errors="replace") < asked.since:
        return b""
    return line if asked.timestamps else line[STAMP:]
