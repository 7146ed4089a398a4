"""Requests to one API server: JSON in and out, refusals as exceptions.

Bodies are never logged: they may hold secrets.
"""

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import urllib3

from localazure.kubernetes_plugin.kubeconfig import Access
from localazure.kubernetes_plugin.kubectl import NoProxyError, Proxy
from localazure.kubernetes_plugin.objects import Object

READ_S = 60.0
LOOK_S = 10.0  # for the question whether anybody is there
APPLY = "application/apply-patch+yaml"
_AGENT = "azure-gpu-localazure"


class ApiError(Exception):
    """The server refused. Its message is a sentence of Kubernetes' own."""

    def __init__(self, status: int, reason: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.details = details or {}

    @property
    def missing_namespace(self) -> bool:
        return self.status == 404 and self.details.get("kind") == "namespaces"


class UnreachableError(Exception):
    """Nobody answered, or nobody could be signed in."""


class Api:
    """One server and one user. Threads share it; nothing is started before the first request. `opened`: the way to the server."""

    def __init__(self, access: Access, *, opened: Callable[[Access], urllib3.HTTPConnectionPool] = Proxy) -> None:
        self._access = access
        self._opened = opened
        self._lock = threading.Lock()
        self._pool: urllib3.HTTPConnectionPool | None = None

    def get(self, path: str, **query: str) -> Object:
        return self.request("GET", path, query)

    def look(self) -> None:
        """ApiError, UnreachableError: what came of asking the server for its version."""
        self._send("GET", "/version", None, "", LOOK_S)

    def find(self, path: str, **query: str) -> Object | None:
        """None: it doesn't exist."""
        try:
            return self.get(path, **query)
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    def apply(self, path: str, body: Mapping[str, Any], *, manager: str, force: bool, dry_run: bool) -> Object:
        """Server-side apply, with strict field validation."""
        query = {"fieldManager": manager, "force": "true" if force else "false", "fieldValidation": "Strict"}
        return self.request("PATCH", path, {**query, "dryRun": "All"} if dry_run else query, body, APPLY)

    def delete(self, path: str, propagation: str) -> None:
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        self.request("DELETE", path, {}, options)

    def request(
        self, method: str, path: str, query: Mapping[str, str], body: Any = None, content_type: str = "application/json"
    ) -> Object:
        """The answer's body. ApiError, UnreachableError."""
        address = f"{path}?{urlencode(query)}" if query else path
        # JSON is YAML, so one form serves every body.
        content = None if body is None else json.dumps(body).encode()
        return self._send(method, address, content, content_type, READ_S)

    def _send(self, method: str, address: str, content: bytes | None, content_type: str, read_s: float) -> Object:
        headers = {"Accept": "application/json", "User-Agent": _AGENT}
        if content is not None:
            headers["Content-Type"] = content_type
        what = f'{method.capitalize()} "{self._access.server}{address.split("?")[0]}"'
        try:
            pool = self._connections()
            answer = pool.request(method, address, body=content, headers=headers, timeout=urllib3.Timeout(read=read_s))
        except urllib3.exceptions.TimeoutError:
            raise UnreachableError(f"{what}: the server did not answer in time") from None
        except (urllib3.exceptions.HTTPError, OSError, NoProxyError) as error:
            raise UnreachableError(f"{what}: {error}") from None
        if answer.status == 500 and answer.headers.get("Content-Type", "").startswith("text/plain"):
            # The proxy's own answer, of what kept it from asking; a login program's reason is beside it.
            said = pool.said() if b"getting credentials" in answer.data and isinstance(pool, Proxy) else ""
            raise UnreachableError(" ".join(f"{what}: {answer.data.decode(errors='replace')} {said}".split()))
        return _content(answer.status, answer.data)

    def _connections(self) -> urllib3.HTTPConnectionPool:
        with self._lock:
            if self._pool is None:
                self._pool = self._opened(self._access)
            return self._pool


def _content(status: int, data: bytes) -> Object:
    try:
        body = json.loads(data) if data else {}
    except ValueError:
        body = {}
    if status < 400:
        return body
    if isinstance(body, dict) and body.get("kind") == "Status":
        message = str(body.get("message") or body.get("reason") or f"status {status}")
        raise ApiError(status, str(body.get("reason") or ""), message, body.get("details"))
    raise ApiError(status, "", f"the server answered with status {status} and no explanation")
