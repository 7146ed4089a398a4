"""Requests to one instance of a deployment: connections to a port of this machine, kept for the next request, answers as streams.

A request's body is whole before it is sent, so that one that found nobody listening can go to another instance. One that was
sent and lost is never sent again: what it did there isn't known. Of its own, since aiohttp takes three to four times as much of
a processor for each request (115 microseconds instead of 30, 2026-11-30).
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from typing import cast

import httptools

Headers = list[tuple[bytes, bytes]]

HOST = "127.0.0.1"
KEPT_SECONDS = 1.0  # idle, then a connection is given up: shorter than any server's own patience, so that none is closed in use
_HIGH_WATER = 1024 * 1024  # of an answer that its client doesn't read; then the container waits
_LOW_WATER = 256 * 1024


class NobodyListensError(Exception):
    """Nothing was sent: no process listens at the port."""


class LostError(Exception):
    """The request was sent, and the container ended or closed the connection before it had answered."""


class Answer(asyncio.Protocol):
    """One connection, and the answer that arrives on it."""

    def __init__(self, pool: "Upstream") -> None:
        self._pool = pool
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._loop = asyncio.get_running_loop()
        self.idle_since = 0.0
        self._begin()

    def _begin(self) -> None:
        self.status = 0
        self.reason = b""
        self.headers: Headers = []
        self._chunks: deque[bytes] = deque()
        self._held = 0
        self._paused = False
        self._complete = False
        self._keep = False
        self._lost = False
        self._headless = False
        self._measured = False  # whether the answer says where its body ends
        self._waiter: asyncio.Future[None] | None = None

    # What the connection does

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._complete:
            self.drop()  # more than was requested
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._lost = True
            if self._transport is not None:
                self._transport.abort()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._pool.forget(self)
        if self._complete:
            return
        if self.status and not self._measured and exc is None:
            self._complete = True  # the body of an old server ends with the connection
        else:
            self._lost = True
        self._wake()

    # What the parser finds

    def on_status(self, reason: bytes) -> None:
        self.reason = reason

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        self._measured = self._measured or name in (b"content-length", b"transfer-encoding")
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            self.headers.clear()
            return
        self.status = status
        if self._headless or status in (204, 304):
            self._complete, self._keep = True, False

    def on_body(self, body: bytes) -> None:
        self._chunks.append(body)
        self._held += len(body)
        if self._held > _HIGH_WATER and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self.status:
            self._complete, self._keep = True, self._parser.should_keep_alive()

    # What the router does

    @property
    def usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def ask(self, head: bytes, body: bytes, *, headless: bool) -> None:
        """Sends a request and waits for the head of the answer. LostError."""
        if self._transport is None:
            raise LostError
        self._headless = headless
        self._transport.write(head + body if len(body) < _LOW_WATER else head)
        if len(body) >= _LOW_WATER:
            self._transport.write(body)
        while not self.status and not self._lost:
            await self._more()
        if not self.status:
            raise LostError

    @property
    def whole(self) -> bytes | None:
        """The body, where all of it is there already."""
        return b"".join(self._chunks) if self._complete else None

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes. LostError where it breaks off."""
        while True:
            while self._chunks:
                chunk = self._chunks.popleft()
                self._held -= len(chunk)
                if self._paused and self._held < _LOW_WATER and self._transport is not None:
                    self._paused = False
                    self._transport.resume_reading()
                yield chunk
            if self._complete:
                return
            if self._lost:
                raise LostError
            await self._more()

    async def drained(self) -> int:
        """The status of an answer whose body nobody needs. LostError."""
        status = self.status
        try:
            async for _ in self.chunks():
                pass
        finally:
            self.close()
        return status

    def close(self) -> None:
        """The request is over: the connection is kept for another one where it can be."""
        if self._complete and self._keep and self.usable:
            self._parser = httptools.HttpResponseParser(self)
            self._begin()
            self._complete = True  # until it is asked again
            self.idle_since = self._loop.time()
            self._pool.keep(self)
        else:
            self.drop()

    def again(self) -> None:
        """A kept connection is taken into use."""
        self._complete = False

    def drop(self) -> None:
        self._complete = True
        if self._transport is not None:
            self._transport.abort()

    async def _more(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Upstream:
    """The kept connections to one port."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._idle: list[Answer] = []

    async def ask(self, method: bytes, target: bytes, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> Answer:
        """The answer, its head there. `headers` without those of a connection. NobodyListensError, LostError."""
        lines = [b"%s %s HTTP/1.1\r\nhost: localhost:%d\r\n" % (method, target, self.port)]
        lines += [b"%s: %s\r\n" % pair for pair in headers]
        if body or method not in (b"GET", b"HEAD", b"OPTIONS"):
            lines.append(b"content-length: %d\r\n" % len(body))
        lines.append(b"\r\n")
        answer = self._kept() or await self._connected()
        try:
            await answer.ask(b"".join(lines), body, headless=method == b"HEAD")
        except BaseException:
            answer.close()
            raise
        return answer

    def keep(self, answer: Answer) -> None:
        self._idle.append(answer)

    def forget(self, answer: Answer) -> None:
        if answer in self._idle:
            self._idle.remove(answer)

    def close(self) -> None:
        for answer in tuple(self._idle):
            answer.idle_since = 0.0
        self._kept()

    def _kept(self) -> Answer | None:
        oldest = asyncio.get_running_loop().time() - KEPT_SECONDS
        while self._idle:
            answer = self._idle.pop()
            if answer.usable and answer.idle_since >= oldest:
                answer.again()
                return answer
            answer.drop()
        return None

    async def _connected(self) -> Answer:
        try:
            _, answer = await asyncio.get_running_loop().create_connection(lambda: Answer(self), HOST, self.port)
        except OSError as error:
            raise NobodyListensError(str(error)) from error
        return answer
