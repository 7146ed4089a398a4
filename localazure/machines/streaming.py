"""Appends the output of a running command to blobs.

An existing blob is replaced.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from localazure.blobs.service import Blobs

LOOK_SECONDS = 0.2


class Stream:
    """One file and its blob. `sent` says how much of the file is there, for a later server to continue with."""

    def __init__(self, file: Path, url: str, principal: str | None, sent: int = 0) -> None:
        self.file = file
        self.url = url
        self.principal = principal
        self.sent = sent
        self._sending: asyncio.Task[None] | None = None

    async def begin(self, blobs: Blobs) -> None:
        """BlobError where it may not, or can't, be written."""
        await blobs.begin_append(self.url, self.principal)
        self.sent = 0

    async def go_on(self, blobs: Blobs) -> bool:
        """Sends what is new. Whether there was something."""
        if self._sending is not None:  # whoever sent it was cancelled: the blob may have it already
            await asyncio.wait([self._sending])
        content = await asyncio.to_thread(self._new)
        if not content:
            return False
        self._sending = asyncio.create_task(self._send(blobs, content))
        await asyncio.shield(self._sending)
        return True

    async def _send(self, blobs: Blobs, content: bytes) -> None:
        await blobs.append(self.url, content, self.principal)
        self.sent += len(content)

    def _new(self) -> bytes:
        try:
            with self.file.open("rb") as file:
                file.seek(self.sent)
                return file.read()
        except FileNotFoundError:
            return b""


async def follow(streams: list[Stream], blobs: Blobs, told: Callable[[], None]) -> None:
    """Sends on until it is cancelled. `told` is called after each piece."""
    while True:
        for stream in streams:
            if await stream.go_on(blobs):
                told()
        await asyncio.sleep(LOOK_SECONDS)
