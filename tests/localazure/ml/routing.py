"""A router in front of small servers that do what a request's body tells them: connections are in memory, and time is virtual."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, cast

from localazure.faults import GONE
from localazure.ml.authentication import Gate
from localazure.ml.live import LiveEndpoint
from localazure.ml.router import Router
from localazure.ml.scoring_errors import RefusedError
from localazure.ml.slots import Instance, LiveDeployment, Settings
from localazure.ml.upstream import Upstream
from tests.localazure.coroutines import within
from tests.support.patience import SECONDS
from tests.support.virtual_time import VirtualTimeLoop

KEY = b"a-key"


def network() -> "Network":
    """The loop that runs."""
    return cast("Network", asyncio.get_running_loop())


class OpenGate(Gate):
    """Lets in who has the key."""

    def __init__(self) -> None:  # it asks nobody
        pass

    def check(self, endpoint: LiveEndpoint, authorization: bytes) -> None:
        if authorization != b"Bearer " + KEY:
            raise RefusedError("key_auth_access_denied", why="No.")


class Pipe(asyncio.Transport):
    """One end of a connection in memory."""

    def __init__(self, loop: asyncio.AbstractEventLoop, protocol: asyncio.BaseProtocol) -> None:
        super().__init__()
        self._loop = loop
        self._protocol: Any = protocol
        self._peer: Pipe
        self._closing = self._lost = self._paused = False
        self._arrived: list[bytes] = []

    def join(self, peer: "Pipe") -> None:
        self._peer, peer._peer = peer, self
        for end in (self, peer):
            end._protocol.connection_made(end)

    def write(self, data: Any) -> None:
        if not self._closing and data:
            self._peer._arrived.append(bytes(data))
            self._loop.call_soon(self._peer._deliver)

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._loop.call_soon(self._lose)
            self._loop.call_soon(self._peer._end)

    def abort(self) -> None:
        self._arrived.clear()
        self.close()

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        self._loop.call_soon(self._deliver)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """What is written is with the other end at once."""

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def _deliver(self) -> None:
        while self._arrived and not self._paused and not self._closing:
            self._protocol.data_received(self._arrived.pop(0))

    def _end(self) -> None:
        """The other end has closed the connection."""
        self._paused = False
        self._deliver()
        if not self._closing:
            self._closing = True
            self._lose()

    def _lose(self) -> None:
        if not self._lost:
            self._lost = True
            self._protocol.connection_lost(None)


class Network(VirtualTimeLoop):
    """Servers by port; no socket is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.servers: dict[int, Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]] = {}
        self._last = 50_000

    def listen(self, serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any], port: int = 0) -> int:
        self._last += 1
        self.servers[port or self._last] = serve
        return port or self._last

    async def create_connection(self, factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:
        serve = self.servers.get(port)
        if serve is None:
            raise ConnectionRefusedError(f"nobody listens at {port}")
        reader = asyncio.StreamReader(loop=self)
        protocol, theirs = factory(), asyncio.StreamReaderProtocol(reader, serve, loop=self)
        here, there = Pipe(self, protocol), Pipe(self, theirs)
        there.join(here)
        return here, protocol


class Server:
    """Answers each request with what it was sent, or as the request's JSON says: `status`, `sleep`, `die`, `half`, `close`."""

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[tuple[str, dict[str, str], bytes]] = []  # line, headers, body
        self.connections = 0
        self.most_at_once = self._now = 0
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self, port: int = 0) -> "Server":
        self.port = network().listen(self._serve, port)
        return self

    async def stop(self) -> None:
        network().servers.pop(self.port, None)
        for writer in self._writers:
            writer.close()
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            while await self._one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line, *rest = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in rest)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.requests.append((line, headers, body))
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        told = json.loads(body) if body[:1] == b"{" else {}
        try:
            await asyncio.sleep(told.get("sleep", 0))
        finally:
            self._now -= 1
        if told.get("die"):
            writer.transport.abort()
            return False
        content = body[: told.get("length", len(body))] if "big" not in told else b"x" * told["big"]
        extra = "connection: close\r\n" if told.get("close") else ""
        status = told.get("status", 200)
        writer.write(f"HTTP/1.1 {status} Told\r\ncontent-length: {len(content)}\r\nx-own: 1\r\n{extra}\r\n".encode())
        writer.write(content[: len(content) // 2] if told.get("half") else content)
        await writer.drain()
        return not (told.get("half") or told.get("close"))


class Answered:
    """What a client got."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.aborted = False

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Scene:
    """A router, its endpoint, and its servers."""

    def __init__(self) -> None:
        self.endpoint = LiveEndpoint(key="/e", name="e", auth_mode="Key")
        self.router = Router(lambda region, name: self.endpoint if (region, name) == ("westeurope", "e") else None, OpenGate())
        self.servers: list[Server] = []

    async def deploy(self, name: str, instances: int = 1, *, timeout: float = 5, concurrent: int = 50) -> list[Server]:
        servers = [await Server().start() for _ in range(instances)]
        self.servers += servers
        ready = [Instance(f"{name}-{server.port}", Upstream(server.port), ready=True) for server in servers]
        settings = Settings(timeout_seconds=timeout, concurrent=concurrent, wait_seconds=0.05)
        self.endpoint.deployments[name] = LiveDeployment(name, settings, ready)
        return servers

    async def ask(self, body: Any = b"", path: str = "/ml/westeurope/e/score", method: str = "POST", **given: Any) -> Answered:
        """`chunks`: the body's parts as they come; `gone`: then the client leaves; `headers`: beside that of the key;
        `leaving`: what is called where the client goes away later."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        parts: list[bytes] = given.get("chunks") or [content]
        headers = {"authorization": f"Bearer {KEY.decode()}", "host": "localhost", **given.get("headers", {})}
        answered = Answered()
        messages = [
            {"type": "http.request", "body": part, "more_body": number < len(parts) or bool(given.get("gone"))}
            for number, part in enumerate(parts, 1)
        ]
        incoming = iter([*messages, *([{"type": "http.disconnect"}] if given.get("gone") else [])])

        async def receive() -> Any:
            try:
                return next(incoming)
            except StopIteration:
                return await asyncio.Event().wait()

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                answered.status = message["status"]
                answered.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            else:
                answered.body += message.get("body", b"")

        path, _, query = path.partition("?")
        scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "localazure.abort": lambda: setattr(answered, "aborted", True),
            GONE: given.get("leaving", []),
        }
        await self.router.answer(scope, receive, send)
        return answered


@asynccontextmanager
async def scene() -> AsyncIterator[Scene]:
    made = Scene()
    try:
        yield made
    finally:
        await made.router.close()
        for server in made.servers:
            await server.stop()


def play(told: Callable[[Scene], Any]) -> None:
    """Runs a scene to its end."""

    async def run() -> None:
        async with asyncio.timeout(SECONDS), scene() as made:
            await told(made)

    play_coroutine(run())


in_scene = within(play)


def play_coroutine(work: Coroutine[Any, Any, Any]) -> None:
    with asyncio.Runner(loop_factory=Network) as runner:
        runner.run(work)
