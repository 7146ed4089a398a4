"""The body of a request as one piece: a client that is slow, or that says no length, keeps no container waiting."""

import asyncio

from starlette.types import Message, Receive

from localazure.ml import refusals

MOST_BYTES = 100 * 1024 * 1024  # of the embedded Azure; the service publishes no limit for a request
IDLE_SECONDS = 30.0  # without a byte of a body that was begun


class ClientGoneError(Exception):
    """Nobody is left to answer."""


async def whole(receive: Receive, declared: bytes) -> bytes:
    """All of it. `declared`: the Content-Length, or b"". RefusedError where it is too large or doesn't come; ClientGoneError."""
    if declared.isdigit() and int(declared) > MOST_BYTES:
        raise refusals.too_large(MOST_BYTES)
    chunks: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await _next(receive)
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > MOST_BYTES:
            raise refusals.too_large(MOST_BYTES)
        chunks.append(chunk)
        more = message.get("more_body", False)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def _next(receive: Receive) -> Message:
    try:
        async with asyncio.timeout(IDLE_SECONDS):
            return await receive()
    except TimeoutError:
        raise refusals.slow_body(IDLE_SECONDS) from None
