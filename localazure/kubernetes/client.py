"""A small client of a Kubernetes API server: requests and watches, with a certificate, for one event loop.

Paths are such as `/api/v1/namespaces/default/pods`, bodies are plain dicts, errors are `KubeError`.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from localazure.kubernetes.client_transport import Answer, LostError, Transport

Body = dict[str, Any]
Patch = Literal["merge", "json", "strategic"]

_PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_ANSWER_SECONDS = 30.0
_WATCH_SECONDS = 300
_AGAIN_SECONDS = 0.5  # between two tries to follow a server that is away
_HEADERS = {"Accept": "application/json", "User-Agent": "azure-gpu"}
GONE = 410


class KubeError(Exception):
    """A refusal, as the API server's Status says it. `status` 0: it didn't answer."""

    def __init__(self, status: int, reason: str, message: str, body: Body | None = None) -> None:
        super().__init__(f"{reason}: {message}" if reason else message)
        self.status = status
        self.reason = reason
        self.message = message
        self.body = body or {}


class Event(NamedTuple):
    """What happened to an object. `follow` also tells SYNCED, with all that there is as {"items": […]}."""

    type: str  # ADDED, MODIFIED, DELETED, SYNCED
    object: Body


class KubeApi:
    """One API server, asked as one user."""

    def __init__(self, server: str, ca: Path, certificate: Path, key: Path) -> None:
        context = ssl.create_default_context(cafile=str(ca))
        context.load_cert_chain(str(certificate), str(key))
        self.server = server
        address = urlsplit(server)
        self._transport = Transport(address.hostname or "", address.port or 443, context)

    @classmethod
    def of_agent(cls, settings: Path) -> "KubeApi":
        """As a cluster's `agent.json` says."""
        given = json.loads(settings.read_text(encoding="utf-8"))
        client = given["client"]
        return cls(given["server"], Path(given["ca"]), Path(client["certificate"]), Path(client["key"]))

    async def get(self, path: str, **query: str) -> Body:
        return await self._asked("GET", path, query)

    async def find(self, path: str) -> Body | None:
        """None where there is no such object."""
        try:
            return await self.get(path)
        except KubeError as error:
            if error.status == 404:
                return None
            raise

    async def list(self, path: str, *, labels: str = "", fields: str = "") -> Body:
        return await self._asked("GET", path, _selected(labels, fields))

    async def create(self, path: str, body: Body, *, dry_run: bool = False, field_manager: str = "") -> Body:
        query = {"dryRun": "All"} if dry_run else {}
        return await self._asked("POST", path, query | ({"fieldManager": field_manager} if field_manager else {}), body)

    async def replace(self, path: str, body: Body) -> Body:
        return await self._asked("PUT", path, {}, body)

    async def patch(self, path: str, body: Any, *, kind: Patch = "merge") -> Body:
        return await self._asked("PATCH", path, {}, body, _PATCHES[kind])

    async def apply(self, path: str, body: Body, *, field_manager: str, force: bool = True) -> Body:
        query = {"fieldManager": field_manager, "force": str(force).lower()}
        return await self._asked("PATCH", path, query, body, _PATCHES["apply"])

    async def delete(
        self, path: str, *, grace_seconds: int | None = None, propagation: str = "Background", uid: str = ""
    ) -> Body | None:
        """None where it was gone, or where `uid` is given and another object has the name now."""
        options: Body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
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
        status, content = await self._sent("GET", path, query, None, "application/json")
        if status >= 400:
            raise _refusal(status, content)
        return content.decode("utf-8", errors="replace")

    async def ready(self) -> bool:
        try:
            return (await self._sent("GET", "/readyz", {}, None, ""))[0] == 200
        except KubeError:
            return False

    async def watch(
        self, path: str, version: str, *, labels: str = "", fields: str = "", seconds: int = _WATCH_SECONDS
    ) -> AsyncIterator[Event]:
        """What happens after `version`, over one connection, which ends in time. KubeError 410 where that is too long ago."""
        query = {
            **_selected(labels, fields),
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(seconds),
        }
        try:
            async with self._transport.ask("GET", _target(path, query), _HEADERS, None, _ANSWER_SECONDS) as answer:
                if answer.status != 200:
                    raise _refusal(answer.status, await answer.content(_ANSWER_SECONDS))
                async for line in _lines(answer, seconds + _ANSWER_SECONDS):
                    told = json.loads(line)
                    if told["type"] == "ERROR":
                        status = told["object"]
                        raise KubeError(status.get("code", 0), status.get("reason", ""), status.get("message", ""), status)
                    yield Event(told["type"], told["object"])
        except LostError as error:
            raise _unanswered(self.server, error) from error

    async def follow(self, path: str, *, labels: str = "", fields: str = "") -> AsyncIterator[Event]:
        """All that there is, as SYNCED, then what happens, for ever. After a loss it lists again: what was deleted meanwhile is
        what a later SYNCED lacks."""
        while True:
            try:
                found = await self.list(path, labels=labels, fields=fields)
                yield Event("SYNCED", found)
                version = found["metadata"]["resourceVersion"]
                while True:
                    async for event in self.watch(path, version, labels=labels, fields=fields):
                        version = event.object["metadata"]["resourceVersion"]
                        if event.type != "BOOKMARK":
                            yield event
            except KubeError as error:
                if error.status != GONE and 400 <= error.status < 500 and error.status != 429:
                    raise
                await asyncio.sleep(_AGAIN_SECONDS)

    async def close(self) -> None:
        await self._transport.close()

    async def _asked(self, method: str, path: str, query: Body, body: Any = None, kind: str = "application/json") -> Body:
        status, content = await self._sent(method, path, query, body, kind)
        if status >= 400:
            raise _refusal(status, content)
        return json.loads(content)

    async def _sent(self, method: str, path: str, query: Body, body: Any, kind: str) -> tuple[int, bytes]:
        content = None if body is None else json.dumps(body).encode()
        headers = _HEADERS if content is None else {**_HEADERS, "Content-Type": kind}
        try:
            async with self._transport.ask(method, _target(path, query), headers, content, _ANSWER_SECONDS) as answer:
                return answer.status, await answer.content(_ANSWER_SECONDS)
        except LostError as error:
            raise _unanswered(self.server, error) from error


def _target(path: str, query: Body) -> str:
    return path + (f"?{urlencode(query, quote_via=quote)}" if query else "")


def _selected(labels: str, fields: str) -> dict[str, str]:
    return ({"labelSelector": labels} if labels else {}) | ({"fieldSelector": fields} if fields else {})


def _refusal(status: int, content: bytes) -> KubeError:
    try:
        body = json.loads(content)
        return KubeError(status, str(body.get("reason", "")), str(body.get("message", "")), body)
    except (ValueError, AttributeError):
        return KubeError(status, "", content.decode("utf-8", errors="replace").strip()[:1000])


def _unanswered(server: str, error: Exception) -> KubeError:
    return KubeError(0, "Unreachable", f"{server} doesn't answer: {str(error) or type(error).__name__}")


async def _lines(answer: Answer, seconds: float) -> AsyncIterator[bytes]:
    """The whole lines of an answer as they come."""
    kept = b""
    async for part in answer.chunks(seconds):
        *whole, kept = (kept + part).split(b"\n")
        for line in whole:
            yield line
