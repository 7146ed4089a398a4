"""An embedded Azure inside the test's own process: no port, no process, and a clock that moves only where a test waits.

Requests run one at a time, in the order in which a test sends them. Work in the background goes on while the test waits for it.
"""

import asyncio
import contextlib
import io
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import pytest
from starlette.types import ASGIApp

from localazure import __main__ as commands, endpoint, lifecycle
from localazure.entra import identity as identities
from localazure.faults import ABORT, GONE
from localazure.folder import LocalFolder
from localazure.server import Start, application
from localazure.services import Clock, Settings
from localazure.weather.state import Weather
from tests.support.embedded import CHECKOUT, EmbeddedAzure
from tests.support.in_process_sdk import InProcessTransport
from tests.support.virtual_time import VirtualTimeLoop

PORT = 1  # nobody listens on it; the answers name it in their addresses
BEGAN = datetime(2026, 11, 20, 12, tzinfo=UTC)  # when the clock of each begins
_STEP_SECONDS = 0.5  # of the server's time, between two looks at what is waited for
_STEPS = 4000


class _Transport(httpx.BaseTransport):
    """Sends requests to an application, on its loop."""

    def __init__(self, app: ASGIApp, loop: VirtualTimeLoop) -> None:
        self._app = app
        self._loop = loop

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        status, headers, body = self._loop.run_until_complete(self._answer(request, request.read()))
        content = b"" if request.method == "HEAD" else b"".join(body)
        return httpx.Response(status, headers=headers, content=content, request=request)

    async def _answer(self, request: httpx.Request, content: bytes) -> tuple[int, Any, list[bytes]]:
        aborted = asyncio.Event()
        messages = iter([{"type": "http.request", "body": content, "more_body": False}])
        start: dict[str, Any] = {}
        body: list[bytes] = []

        async def receive() -> dict[str, Any]:
            if (message := next(messages, None)) is not None:
                return message
            await aborted.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            else:
                body.append(message.get("body", b""))

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": request.url.scheme,
            "path": request.url.path,
            "raw_path": request.url.raw_path.split(b"?")[0],
            "query_string": request.url.query,
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "client": ("127.0.0.1", 1),
            "server": (request.url.host, request.url.port),
            ABORT: aborted.set,
            GONE: [],
        }
        await self._app(scope, receive, send)
        if aborted.is_set():
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.", request=request)
        return start["status"], start["headers"], body


class InProcessAzure(EmbeddedAzure):
    """One application. Nothing that is declared runs (`--nothing-runs`)."""

    def __init__(
        self, state: Path, *, as_of: date | None = None, weather: str = "calm", checkout: Path = CHECKOUT, began: datetime = BEGAN
    ) -> None:
        self.state = state
        self.url = f"https://localhost:{PORT}"
        self.weather = Weather(kind=weather)
        self._looks = 0
        self.checkout, self._as_of, self._began = checkout, as_of, began
        self._folder = LocalFolder(state)
        self._folder.create()
        self.start()
        self.identified(asdict(identities.load(self._folder)))

    # The application

    def start(self) -> None:
        self.loop = VirtualTimeLoop()
        clock = Clock(given=self._as_of, now=self.now)
        start = Start(
            folder=self._folder,
            checkout=self.checkout,
            port=PORT,
            as_of=self._as_of,
            weather=self.weather,
            clock=clock,
            nothing_runs=True,
            is_durable=False,
        )
        self._app = application(start)
        self._ends = asyncio.Event()
        begun = asyncio.Event()
        self._living = self.loop.create_task(self._lifespan(begun))
        self.run(begun.wait())

    def stop(self) -> None:
        self._ends.set()
        self.run(self._living)
        self._began = self.now()
        self.loop.close()

    def restart(self) -> None:
        """Another application with the same state, at the same time."""
        self.stop()
        self.start()
        self.client.close()
        self.client = self.http(auth=self.client.auth)

    async def _lifespan(self, begun: asyncio.Event) -> None:
        phases = iter(("lifespan.startup", "lifespan.shutdown"))

        async def receive() -> dict[str, Any]:
            kind = next(phases)
            if kind == "lifespan.shutdown":
                await self._ends.wait()
            return {"type": kind}

        async def send(message: Any) -> None:
            assert "failed" not in message["type"], message
            begun.set()

        await self._app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send)

    # Time

    def now(self) -> datetime:
        """Each look at the clock is later than the one before, by a microsecond at least."""
        self._looks += 1
        return self._began + timedelta(seconds=self.loop.time(), microseconds=self._looks)

    def move(self, seconds: float) -> None:
        self.run(asyncio.sleep(seconds))

    def run(self, work: Any) -> Any:
        """Runs a coroutine on the application's loop."""
        return self.loop.run_until_complete(work)

    def until(self, true: Callable[[], Any], what: str) -> Any:
        for _ in range(_STEPS):
            if found := true():
                return found
            self.move(_STEP_SECONDS)
        raise AssertionError(f"not within {_STEPS * _STEP_SECONDS:.0f} s of the server's time: {what}")

    # Requests

    def command(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """`python -m localazure` in this process, whose requests reach this application."""
        out, err = io.StringIO(), io.StringIO()
        asked = mock.patch.object(endpoint, "ask", self._ask)
        running = mock.patch.object(lifecycle, "running", return_value=mock.Mock(spec_set=["url"], url=self.url))
        with asked, running, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = commands.main(["--state", str(self.state), "--checkout", str(self.checkout), *arguments])
            except SystemExit as ended:  # argparse's
                code = int(ended.code or 0)
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())

    def _ask(self, _: Any, __: Any, method: str, path: str, body: Any, token: str) -> tuple[int, dict[str, Any]]:
        answer = self.client.request(method, path, json=body, headers={"Authorization": f"Bearer {token}"})
        return answer.status_code, answer.json() if answer.content else {}

    def http(self, **options: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, transport=_Transport(self._app, self.loop), **options)

    def sdk_options(self) -> dict[str, Any]:
        return {"transport": InProcessTransport(self.http(), self.move)}


class _No:
    """False, whatever is set."""

    def __get__(self, instance: object, owner: object = None) -> bool:
        return False

    def __set__(self, instance: object, value: object) -> None:
        """Kept by nobody."""


def judging_as_if_things_ran(patch: pytest.MonkeyPatch) -> None:
    """Has the application judge requests as one on which what is declared runs, while `patch` holds. Nothing runs even so."""
    patch.setattr(Settings, "nothing_runs", _No())
