"""Reads the whole body of a request, so that a slow client keeps no container waiting.

What all bodies take of memory together has a limit too.
"""

import asyncio
import contextlib
from collections.abc import Iterator

from starlette.types import Message, Receive

from localazure.ml import scoring_errors

MOST_BYTES = 100 * 1024 * 1024  # of the embedded Azure; the service publishes no limit for a request
MOST_TOGETHER = 512 * 1024 * 1024  # of all requests under way
IDLE_SECONDS = 30.0  # without a byte of a body that was begun
WHOLE_SECONDS = 300.0  # from its first byte to its last


GONE = "localazure.gone"  # key in the ASGI scope: what is called where the client goes away before it has its answer


class ClientGoneError(Exception):
    """Nobody is left to answer."""


class Memory:
    """What the bodies of all requests under way take together."""

    def __init__(self) -> None:
        self.taken = 0

    @contextlib.contextmanager
    def share(self) -> Iterator["Share"]:
        """One request's part of it, given back when the request is over."""
        share = Share(self)
        try:
            yield share
        finally:
            self.taken -= share.taken


class Share:
    """What one request's body takes."""

    def __init__(self, memory: Memory) -> None:
        self.taken = 0
        self._memory = memory

    def take(self, count: int) -> None:
        """RefusedError where the body is too large, or all of them together are."""
        if self.taken + count > MOST_BYTES:
            raise scoring_errors.too_large(MOST_BYTES)
        if self._memory.taken + count > MOST_TOGETHER:
            raise scoring_errors.no_memory(MOST_TOGETHER)
        self.taken += count
        self._memory.taken += count


async def whole(receive: Receive, declared: bytes, share: Share) -> bytes:
    """All of it. `declared`: the Content-Length, or b"". RefusedError where it is too large or doesn't come; ClientGoneError."""
    if declared.isdigit() and int(declared) > MOST_BYTES:
        raise scoring_errors.too_large(MOST_BYTES)
    chunks: list[bytes] = []
    more = True
    last = asyncio.get_running_loop().time() + WHOLE_SECONDS
    while more:
        message = await _next(receive, last)
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        chunk: bytes = message.get("body", b"")
        share.take(len(chunk))
        chunks.append(chunk)
        more = message.get("more_body", False)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def _next(receive: Receive, last: float) -> Message:
    moment = asyncio.get_running_loop().time() + IDLE_SECONDS
    try:
        async with asyncio.timeout_at(min(moment, last)):
            return await receive()
    except TimeoutError:
        idle = moment <= last
        why = f"nothing came for {IDLE_SECONDS:g} seconds" if idle else f"it takes more than {WHOLE_SECONDS:g} seconds"
        raise scoring_errors.slow_body(why) from None
