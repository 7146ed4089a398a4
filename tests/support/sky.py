"""An embedded Azure inside of the test's own process, with a clock that the test moves: for what takes a while in Azure."""

import asyncio
import threading
import uuid
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from starlette.types import ASGIApp

from localazure.entra import identity as identities
from localazure.fault import PATH
from localazure.folder import LocalFolder
from localazure.server import Start, application
from localazure.services import Clock
from localazure.weather.state import Weather
from tests.support.embedded import CHECKOUT, SUBSCRIPTION

URL = "https://localhost:1"
_ROUNDS = 500  # requests within which what nobody holds back has happened


class Time:
    """Stands still until it is moved. Begins some minutes ago, because tokens are judged by the real time too."""

    def __init__(self) -> None:
        self._now = datetime.now(UTC) - timedelta(minutes=30)
        self._sleeping: list[tuple[datetime, asyncio.AbstractEventLoop, asyncio.Event]] = []

    def now(self) -> datetime:
        return self._now

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        self._sleeping.append((self._now + timedelta(seconds=seconds), asyncio.get_running_loop(), woken))
        await woken.wait()

    def move(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        for until, loop, woken in self._sleeping:
            if until <= self._now:
                loop.call_soon_threadsafe(woken.set)
        self._sleeping = [each for each in self._sleeping if each[0] > self._now]


class Loop:
    """An event loop in a thread of its own, for an application that is asked from outside of it."""

    def __init__(self) -> None:
        self.inner = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.inner.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.inner).result(60)

    def close(self) -> None:
        self.inner.call_soon_threadsafe(self.inner.stop)
        self._thread.join(10)
        self.inner.close()


class Client:
    """Requests to an application, one at a time, as httpx has them."""

    def __init__(self, app: ASGIApp, loop: Loop) -> None:
        self._loop = loop
        self._client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=URL)
        self.headers = self._client.headers

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self._loop.run(self._client.request(method, path, **options))

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def put(self, path: str, **options: Any) -> httpx.Response:
        return self.request("PUT", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)

    def delete(self, path: str, **options: Any) -> httpx.Response:
        return self.request("DELETE", path, **options)

    def close(self) -> None:
        self._loop.run(self._client.aclose())


async def _lifespan(app: ASGIApp, ends: asyncio.Event, begun: threading.Event) -> None:
    """Speaks ASGI's lifespan protocol with the application, as a server does."""
    asked = iter(("lifespan.startup", "lifespan.shutdown"))

    async def receive() -> dict[str, Any]:
        kind = next(asked)
        if kind == "lifespan.shutdown":
            await ends.wait()
        return {"type": kind}

    async def send(message: Any) -> None:
        assert "failed" not in message["type"], message
        begun.set()

    await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send)


class Sky:
    """One server. `client` carries a token."""

    def __init__(self, client: Client, time: Time, identity: identities.Identity, weather: Weather) -> None:
        self.client = client
        self.weather = weather
        self.time = time
        self.identity = identity
        form = {
            "grant_type": "client_credentials",
            "client_id": identity.client_id,
            "client_secret": identity.client_secret,
        }
        self._form = form
        client.headers["Authorization"] = f"Bearer {self.token()}"

    def token(self, scope: str = f"{URL}/.default") -> str:
        answer = self.client.post(f"/{self.identity.tenant_id}/oauth2/v2.0/token", data={**self._form, "scope": scope})
        return str(answer.json()["access_token"])

    def fault(self, kind: str, name: str = "", **more: Any) -> None:
        answer = self.client.put(PATH, json={"kind": kind, **({"name": name} if name else {}), **more}, headers=self._admin)
        assert answer.status_code == 200, answer.text

    def turn(self, weather: str) -> None:
        """Another weather, no faults, and nothing remembered."""
        self.weather.kind = weather
        self.weather.refusals.clear()
        self.weather.allowances.clear()
        self.clear()

    def clear(self) -> None:
        self.client.delete(PATH, headers=self._admin)

    @property
    def _admin(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.identity.admin_token}"}

    def put(self, path: str, version: str, body: Any) -> httpx.Response:
        return self.client.put(path, params={"api-version": version}, json=body)

    def get(self, path: str, version: str) -> httpx.Response:
        return self.client.get(path, params={"api-version": version})

    def post(self, path: str, version: str, body: Any = None) -> httpx.Response:
        return self.client.post(path, params={"api-version": version}, json=body)

    def delete(self, path: str, version: str, **query: str) -> httpx.Response:
        return self.client.delete(path, params={"api-version": version, **query})

    def made(self, path: str, version: str, body: Any) -> dict[str, Any]:
        """Puts what has to succeed, time moving on as far as it takes, and answers it as it is then."""
        answer = self.put(path, version, body)
        assert answer.status_code in (200, 201, 202), answer.text
        address = answer.headers.get("azure-asyncoperation")
        for _ in range(_ROUNDS) if address else ():
            told = self.client.get(address).json()
            if told["status"] != "InProgress":
                assert told["status"] == "Succeeded", told
                break
            self.time.move(1)
        return self.get(path, version).json()

    def group(self) -> str:
        path = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-{uuid.uuid4().hex[:12]}"
        return str(self.made(path, "2024-03-01", {"location": "westeurope"})["id"])


@contextmanager
def sky(folder: Path) -> Iterator[Sky]:
    """A server in a new state folder."""
    time, local = Time(), LocalFolder(folder)
    local.create()
    clock = Clock(now=time.now, sleep=time.sleep)
    weather = Weather()
    start = Start(folder=local, checkout=CHECKOUT, port=1, as_of=None, weather=weather, clock=clock)
    loop, begun = Loop(), threading.Event()
    app, ends = application(start), asyncio.Event()
    living = asyncio.run_coroutine_threadsafe(_lifespan(app, ends, begun), loop.inner)
    client = Client(app, loop)
    try:
        assert begun.wait(60)
        yield Sky(client, time, identities.load(local), weather)
        client.close()
    finally:
        loop.inner.call_soon_threadsafe(ends.set)
        living.result(60)
        loop.close()
