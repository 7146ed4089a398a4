"""A router in the test's own process, in front of small servers that do what a request's body tells them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from localazure.ml.bodies import GONE
from localazure.ml.gate import Gate
from localazure.ml.live import LiveEndpoint
from localazure.ml.refusals import access_denied
from localazure.ml.router import Router
from localazure.ml.slots import Instance, LiveDeployment, Settings
from localazure.ml.upstream import Upstream

KEY = b"a-key"
SECONDS = 10


class OpenGate(Gate):
    """Lets in who has the key."""

    def __init__(self) -> None:  # it asks nobody
        pass

    def check(self, endpoint: LiveEndpoint, authorization: bytes) -> None:
        if authorization != b"Bearer " + KEY:
            raise access_denied("No.")


class Server:
    """Answers each request with what it was sent, or as the request's JSON says: `status`, `sleep`, `die`, `half`, `close`."""

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[tuple[str, dict[str, str], bytes]] = []  # line, headers, body
        self.connections = 0
        self.most_at_once = self._now = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self, port: int = 0) -> "Server":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
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

    asyncio.run(run())
