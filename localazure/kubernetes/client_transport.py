"""HTTP/1.1 over TLS to one server: requests and streamed answers on connections that are kept, for one event loop.

Parsed by httptools, as the embedded Azure's own server does it, since a node agent asks much and often. `LostError` is all that
goes wrong.
"""

import asyncio
import contextlib
import ssl
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import httptools

_CONNECT_SECONDS = 5.0
_IDLE_SECONDS = 30.0  # after which a kept connection isn't used again; the server keeps them longer
_MOST_WAITING = 64  # chunks of an answer that nobody reads, before no more is taken from the server


class LostError(Exception):
    """The server can't be reached, doesn't answer in time, or went away while it did. `began`: after part of the answer."""

    def __init__(self, why: str, *, began: bool = False) -> None:
        super().__init__(why)
        self.began = began


class _Connection(asyncio.Protocol):
    """One connection; one request at a time."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.used_at = time.monotonic()
        self.status = 0
        self.keep = False
        self.complete = False
        self.lost: str | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._chunks: deque[bytes] = deque()
        self._paused = False
        self._news = asyncio.Event()

    # What httptools tells

    def on_headers_complete(self) -> None:
        if self._parser is not None:
            self.status = self._parser.get_status_code()
            self.keep = self._parser.should_keep_alive()
            self._news.set()

    def on_body(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        if len(self._chunks) > _MOST_WAITING and not self._paused and self.transport is not None:
            self._paused = True
            self.transport.pause_reading()
        self._news.set()

    def on_message_complete(self) -> None:
        self.complete = True
        self._news.set()

    # What asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._parser is None or self.complete:
            self.close("it spoke without being asked")
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self.close(f"its answer can't be read ({error})")

    def connection_lost(self, exc: Exception | None) -> None:
        if self.lost is None:
            self.lost = str(exc or "it closed the connection")
        self._news.set()

    # What the pool asks

    @property
    def usable(self) -> bool:
        return self.lost is None and time.monotonic() - self.used_at < _IDLE_SECONDS

    def close(self, why: str = "closed") -> None:
        if self.lost is None:
            self.lost = why
        if self.transport is not None:
            self.transport.close()
        self._news.set()

    def ask(self, content: bytes) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.status, self.keep, self.complete = 0, False, False
        self._chunks.clear()
        if self.transport is None or self.lost is not None:
            raise LostError(self.lost or "no connection")
        self.transport.write(content)

    async def head(self) -> int:
        """The status, once it is there."""
        while not self.status:
            if self.lost is not None:
                raise LostError(self.lost)
            await self._wait()
        return self.status

    async def chunk(self) -> bytes | None:
        """The next piece of the answer; None behind the last."""
        while not self._chunks:
            if self.complete:
                return None
            if self.lost is not None:
                raise LostError(self.lost, began=True)
            await self._wait()
        found = self._chunks.popleft()
        if self._paused and not self._chunks and self.transport is not None and self.lost is None:
            self._paused = False
            self.transport.resume_reading()
        return found

    async def _wait(self) -> None:
        self._news.clear()
        await self._news.wait()


class Answer:
    """What a server answers, while it does."""

    def __init__(self, connection: _Connection, status: int) -> None:
        self._connection = connection
        self.status = status

    async def chunks(self, seconds: float) -> AsyncIterator[bytes]:
        """`seconds`: how long nothing may come."""
        while True:
            try:
                async with asyncio.timeout(seconds):
                    found = await self._connection.chunk()
            except TimeoutError:
                raise LostError(f"nothing more in {seconds:g} s", began=True) from None
            if found is None:
                return
            yield found

    async def content(self, seconds: float) -> bytes:
        return b"".join([chunk async for chunk in self.chunks(seconds)])


class Transport:
    """The way to one server."""

    def __init__(self, host: str, port: int, trust: ssl.SSLContext) -> None:
        self._host = host
        self._port = port
        self._trust = trust
        self._idle: list[_Connection] = []
        self._open: set[_Connection] = set()

    @asynccontextmanager
    async def ask(
        self, method: str, target: str, headers: dict[str, str], content: bytes | None, seconds: float
    ) -> AsyncIterator[Answer]:
        """One request; its answer within the block. `seconds`: until the answer has begun."""
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self._host}:{self._port}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += [f"Content-Length: {len(content)}"] if content is not None else []
        requested = "\r\n".join([*lines, "", ""]).encode("ascii") + (content or b"")
        connection, status = await self._begun(method, requested, seconds)
        try:
            yield Answer(connection, status)
        finally:
            self._release(connection)

    async def close(self) -> None:
        for connection in list(self._open):
            connection.close()
        self._open.clear()
        self._idle.clear()

    async def _begun(self, method: str, requested: bytes, seconds: float) -> tuple[_Connection, int]:
        """A connection on which the answer has begun. A kept one may have ended meanwhile: then another is taken."""
        while True:
            kept = self._pop()
            connection = kept or await self._connect()
            try:
                connection.ask(requested)
                async with asyncio.timeout(seconds):
                    return connection, await connection.head()
            except TimeoutError:
                self._drop(connection)
                raise LostError(f"no answer in {seconds:g} s") from None
            except LostError:
                self._drop(connection)
                if kept is None or method == "POST":  # which may have been done
                    raise
            except BaseException:
                self._drop(connection)
                raise

    def _pop(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                return connection
            self._drop(connection)
        return None

    async def _connect(self) -> _Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                _, connection = await loop.create_connection(_Connection, self._host, self._port, ssl=self._trust)
        except TimeoutError:
            raise LostError(f"no connection in {_CONNECT_SECONDS:g} s") from None
        except OSError as error:
            raise LostError(str(error) or type(error).__name__) from error
        self._open.add(connection)
        return connection

    def _release(self, connection: _Connection) -> None:
        """An answer that was read to its end leaves a connection for the next request."""
        if connection.complete and connection.keep and connection.lost is None:
            connection.used_at = time.monotonic()
            self._idle.append(connection)
        else:
            self._drop(connection)

    def _drop(self, connection: _Connection) -> None:
        with contextlib.suppress(RuntimeError):  # its event loop has ended
            connection.close()
        self._open.discard(connection)
