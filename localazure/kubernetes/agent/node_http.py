"""As much of HTTP/1.1 as a node's port speaks: requests, answers whole or in pieces, connections that become streams."""

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

_HEAD_BYTES = 1 << 16
_IDLE_SECONDS = 120.0


class Request(NamedTuple):
    """`head` is what came, as it came."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    peer: dict[str, Any]  # the client's certificate
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def path(self) -> list[str]:
        return [unquote(part) for part in urlsplit(self.target).path.strip("/").split("/")]

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True)

    def parameter(self, name: str) -> str:
        return self.query.get(name, [""])[-1]

    def header(self, name: str) -> str:
        return next((text for key, text in self.headers if key.lower() == name.lower()), "")

    async def answer(self, status: int, text: str) -> None:
        body = text.encode()
        self.writer.write(_head(status, "text/plain; charset=utf-8", ("Content-Length", str(len(body)))) + body)
        await self.writer.drain()

    async def begin(self) -> None:
        """An answer in pieces."""
        self.writer.write(_head(200, "text/plain", ("Transfer-Encoding", "chunked")))
        await self.writer.drain()

    async def piece(self, content: bytes) -> None:
        if content:
            self.writer.write(b"%x\r\n%s\r\n" % (len(content), content))
            await self.writer.drain()

    async def finish(self) -> None:
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()


Handler = Callable[[Request], Awaitable[bool]]  # whether the connection continues


async def serve(handler: Handler, trust: ssl.SSLContext, host: str, port: int) -> tuple[asyncio.Server, int]:
    """On the port, or on any where that is 0 or taken."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _connection(handler, reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            return  # the client has gone, or speaks something else; or the agent ends
        finally:
            with contextlib.suppress(OSError, RuntimeError):
                writer.close()

    try:
        server = await asyncio.start_server(connected, host, port, ssl=trust, limit=_HEAD_BYTES)
    except OSError:
        server = await asyncio.start_server(connected, host, 0, ssl=trust, limit=_HEAD_BYTES)
    return server, int(server.sockets[0].getsockname()[1])


async def _connection(handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    peer = writer.get_extra_info("peercert") or {}
    while True:
        try:
            async with asyncio.timeout(_IDLE_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = [(name.strip(), text.strip()) for name, _, text in (line.partition(":") for line in lines if line)]
        request = Request(method, target, headers, peer, reader, writer)
        length = request.header("Content-Length")
        if length.isdigit() and int(length):
            await reader.readexactly(int(length))
        if not await handler(request) or request.header("Connection").lower() == "close":
            return


def _head(status: int, kind: str, length: tuple[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", f"Content-Type: {kind}", ": ".join(length)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
