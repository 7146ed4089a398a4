"""A small client of a Kubernetes API server: requests and watches, with a certificate, for one event loop.

Paths are such as `/api/v1/namespaces/default/pods`, bodies are plain dicts, errors are `KubeError`. Connections are aiohttp's: a
node agent asks much and often, and httpcore takes five times as much of a processor for a request (2026-11-29).
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import aiohttp

Body = dict[str, Any]
Patch = Literal["merge", "json", "strategic", "apply"]

_PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_CONNECT_SECONDS = 5.0
_ANSWER_SECONDS = 30.0  # in which nothing comes
_WATCH_SECONDS = 300
_AGAIN_SECONDS = 0.5  # between two tries to follow a server that is away
# Compressed answers would cost both sides more than this machine's loopback does.
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "azure-gpu"}
GONE = 410


class KubeError(Exception):
    """A refusal, as the API server's Status says it. `status` 0: it didn't answer."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{reason}: {message}" if reason else message)
        self.status = status
        self.reason = reason
        self.message = message


class Event(NamedTuple):
    """What happened to an object. `follow` also tells SYNCED, with all that there is as {"items": […]}."""

    type: str  # ADDED, MODIFIED, DELETED, SYNCED
    object: Body


class KubeApi:
    """One API server, asked as one user."""

    def __init__(self, server: str, ca: Path, certificate: Path, key: Path) -> None:
        self._trust = ssl.create_default_context(cafile=str(ca))
        self._trust.load_cert_chain(str(certificate), str(key))
        self.server = server
        self._session: aiohttp.ClientSession | None = None

    @classmethod
    def of_agent(cls, settings: Path) -> "KubeApi":
        """As a cluster's `agent.json` says."""
        given = json.loads(settings.read_text(encoding="utf-8"))
        client = given["client"]
        return cls(given["server"], Path(given["ca"]), Path(client["certificate"]), Path(client["key"]))

    async def get(self, path: str) -> Body:
        return await self._asked("GET", path)

    async def find(self, path: str) -> Body | None:
        """None where there is no such object."""
        try:
            return await self.get(path)
        except KubeError as error:
            if error.status == 404:
                return None
            raise

    async def list(self, path: str, *, labels: str = "", fields: str = "") -> Body:
        return await self._asked("GET", path, _selected(fields) | ({"labelSelector": labels} if labels else {}))

    async def create(self, path: str, body: Body) -> Body:
        return await self._asked("POST", path, {}, body)

    async def patch(self, path: str, body: Any, *, kind: Patch = "merge") -> Body:
        return await self._asked("PATCH", path, {}, body, _PATCHES[kind])

    async def apply(self, path: str, body: Body, *, field_manager: str) -> Body:
        """Takes over what another manager has said of the same fields."""
        return await self._asked("PATCH", path, {"fieldManager": field_manager, "force": "true"}, body, _PATCHES["apply"])

    async def delete(self, path: str, *, grace_seconds: int | None = None, uid: str = "") -> Body | None:
        """None where it was gone, or where `uid` is given and another object has the name now."""
        options: Body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        if uid:
            options["preconditions"] = {"uid": uid}
        try:
            return await self._asked("DELETE", path, {}, options)
        except KubeError as error:
            if error.status == 404 or (uid and error.status == 409):
                return None
            raise

    async def text(self, path: str, **query: str) -> str:
        """What is answered as it stands, such as a log."""
        async with self._answered("GET", path, query) as answer:
            return (await answer.read()).decode("utf-8", errors="replace")

    async def watch(self, path: str, version: str, *, fields: str = "") -> AsyncIterator[Event]:
        """What happens after `version`, over one connection, which ends in time. KubeError 410 where that is too long ago."""
        query = {
            **_selected(fields),
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_SECONDS),
        }
        async with self._answered("GET", path, query, seconds=_WATCH_SECONDS + _ANSWER_SECONDS) as answer:
            async for line in _lines(answer):
                told = json.loads(line)
                if told["type"] == "ERROR":
                    status = told["object"]
                    raise KubeError(status.get("code", 0), status.get("reason", ""), status.get("message", ""))
                yield Event(told["type"], told["object"])

    async def follow(self, path: str, *, fields: str = "") -> AsyncIterator[Event]:
        """All that there is, as SYNCED, then what happens, for ever. After a loss it lists again: what was deleted meanwhile is
        what a later SYNCED lacks."""
        while True:
            try:
                found = await self.list(path, fields=fields)
                yield Event("SYNCED", found)
                version = found["metadata"]["resourceVersion"]
                while True:
                    async for event in self.watch(path, version, fields=fields):
                        version = event.object["metadata"]["resourceVersion"]
                        if event.type != "BOOKMARK":
                            yield event
            except KubeError as error:
                if error.status != GONE and 400 <= error.status < 500 and error.status != 429:
                    raise
                await asyncio.sleep(_AGAIN_SECONDS)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _asked(
        self, method: str, path: str, query: dict[str, str] | None = None, body: Any = None, kind: str = "application/json"
    ) -> Body:
        async with self._answered(method, path, query or {}, body, kind) as answer:
            return json.loads(await answer.read())

    @asynccontextmanager
    async def _answered(
        self,
        method: str,
        path: str,
        query: dict[str, str],
        body: Any = None,
        kind: str = "",
        seconds: float = 0,
    ) -> "AsyncIterator[aiohttp.ClientResponse]":
        """An answer that is no refusal, read within the block. KubeError. `seconds`: in which nothing may come; 0: 30."""
        import aiohttp  # takes half a second, which only those who have a cluster wait for

        if self._session is None:
            connector = aiohttp.TCPConnector(ssl=self._trust, limit=0, keepalive_timeout=_ANSWER_SECONDS)
            self._session = aiohttp.ClientSession(connector=connector, headers=_HEADERS)
        content = None if body is None else json.dumps(body).encode()
        headers = {} if content is None else {"Content-Type": kind}
        patience = aiohttp.ClientTimeout(sock_connect=_CONNECT_SECONDS, sock_read=seconds or _ANSWER_SECONDS)
        try:
            asking = self._session.request(
                method, self.server + path, params=query, data=content, headers=headers, timeout=patience, allow_redirects=False
            )
            async with asking as answer:
                if answer.status >= 400:
                    raise _refusal(answer.status, await answer.read())
                yield answer
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            why = f"{self.server} doesn't answer: {str(error) or type(error).__name__}"
            raise KubeError(0, "Unreachable", why) from error


def _selected(fields: str) -> dict[str, str]:
    return {"fieldSelector": fields} if fields else {}


def _refusal(status: int, content: bytes) -> KubeError:
    try:
        body = json.loads(content)
        return KubeError(status, str(body.get("reason", "")), str(body.get("message", "")))
    except (ValueError, AttributeError):
        return KubeError(status, "", content.decode("utf-8", errors="replace").strip()[:1000])


async def _lines(answer: "aiohttp.ClientResponse") -> AsyncIterator[bytes]:
    """The whole lines of an answer as they come, however long."""
    kept = b""
    async for part in answer.content.iter_any():
        *whole, kept = (kept + part).split(b"\n")
        for line in whole:
            yield line
