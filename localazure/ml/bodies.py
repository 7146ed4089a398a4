"""Reads the whole body of a request, so that a slow client keeps no container waiting.

What all bodies take of memory together has a limit too.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from starlette.types import Message, Receive

from localazure.ml.scoring_errors import RefusedError

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
        self._taken = 0

    @contextlib.asynccontextmanager
    async def whole(self, receive: Receive, declared: bytes) -> AsyncIterator[bytes]:
        """All of a body, which counts until the request is over. `declared`: the Content-Length, or b"".

        RefusedError where it is too large, by itself or with the others, or doesn't come; ClientGoneError.
        """
        if declared.isdigit() and int(declared) > MOST_BYTES:
            raise RefusedError("RequestTooLarge", limit=MOST_BYTES)
        chunks: list[bytes] = []
        taken, more = 0, True
        last = asyncio.get_running_loop().time() + WHOLE_SECONDS
        try:
            while more:
                message = await _next(receive, last)
                if message["type"] == "http.disconnect":
                    raise ClientGoneError
                chunks.append(message.get("body", b""))
                if taken + len(chunks[-1]) > MOST_BYTES:
                    raise RefusedError("RequestTooLarge", limit=MOST_BYTES)
                if self._taken + len(chunks[-1]) > MOST_TOGETHER:
                    raise RefusedError("TooManyBytesPending", limit=MOST_TOGETHER)
                taken += len(chunks[-1])
                self._taken += len(chunks[-1])
                more = message.get("more_body", False)
            yield chunks[0] if len(chunks) == 1 else b"".join(chunks)
        finally:
            self._taken -= taken


async def _next(receive: Receive, last: float) -> Message:
    moment = asyncio.get_running_loop().time() + IDLE_SECONDS
    try:
        async with asyncio.timeout_at(min(moment, last)):
            return await receive()
    except TimeoutError:
        idle = moment <= last
        why = f"nothing came for {IDLE_SECONDS:g} seconds" if idle else f"it takes more than {WHOLE_SECONDS:g} seconds"
        raise RefusedError("RequestBodyTimeout", why=why) from None
