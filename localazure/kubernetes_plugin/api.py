"""Requests to one API server: one pool of connections for all threads, JSON in and out, refusals as exceptions.

Bodies are never logged: they may hold secrets.
"""

import json
import os
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3

from localazure.kubernetes_plugin.kubeconfig import Access
from localazure.kubernetes_plugin.login import Credential, Login, LoginError
from localazure.kubernetes_plugin.objects import Object

CONNECT_S = 10.0
READ_S = 60.0
LOOK_S = 10.0  # for the question whether anybody is there
APPLY = "application/apply-patch+yaml"
_CONNECTIONS = 32  # as many as the plugin has workers
_AGENT = "azure-gpu-localazure"
_ATTEMPTS = 3  # of a request that the server was too busy for
_LONGEST_S = 5.0  # between two of them


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
    """One server and one user. Threads share it; nothing is sent before the first request.

    `opened`: a pool of connections, with the certificates of server and client.
    """

    def __init__(
        self,
        access: Access,
        login: Login | None = None,
        read_s: float = READ_S,
        *,
        opened: Callable[[Access, Credential], urllib3.PoolManager] | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._access = access
        self._login = login or Login(access)
        self._read = read_s
        self._opened = opened or _opened
        self._sleep = sleep
        self._lock = threading.Lock()
        self._pool: tuple[Credential, urllib3.PoolManager] | None = None

    def get(self, path: str, **query: str) -> Object:
        return self.request("GET", path, query)

    def look(self) -> None:
        """ApiError, UnreachableError: what came of asking the server for its version."""
        self._send("GET", f"{self._access.server}/version", None, "", LOOK_S)

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
        address = f"{self._access.server}{path}" + (f"?{urlencode(query)}" if query else "")
        # JSON is YAML, so one form serves every body.
        content = None if body is None else json.dumps(body).encode()
        return self._send(method, address, content, content_type, self._read)

    def _send(self, method: str, address: str, content: bytes | None, content_type: str, read_s: float) -> Object:
        credential = self._credential()
        answer = self._sent(method, address, content, content_type, credential, read_s)
        for attempt in range(_ATTEMPTS - 1):
            if answer.status == 401 and self._login.renewable and attempt == 0:
                credential = self._credential(refused=credential)
            elif answer.status in (429, 503) and "Retry-After" in answer.headers:
                self._sleep(min(_seconds(answer.headers["Retry-After"]), _LONGEST_S))
            else:
                break
            answer = self._sent(method, address, content, content_type, credential, read_s)
        return _content(answer.status, answer.data)

    def _credential(self, refused: Credential | None = None) -> Credential:
        try:
            return self._login.credential(refused=refused)
        except (LoginError, ValueError) as error:
            raise UnreachableError(str(error)) from None

    def _sent(
        self, method: str, address: str, content: bytes | None, content_type: str, credential: Credential, read_s: float
    ) -> urllib3.BaseHTTPResponse:
        headers = {"Accept": "application/json", "User-Agent": _AGENT}
        if credential.authorization:
            headers["Authorization"] = credential.authorization
        if content is not None:
            headers["Content-Type"] = content_type
        try:
            timeout = urllib3.Timeout(connect=CONNECT_S, read=read_s)
            return self._connections(credential).request(method, address, body=content, headers=headers, timeout=timeout)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise UnreachableError(f'{method.capitalize()} "{address.split("?")[0]}": {_reason(error)}') from None

    def _connections(self, credential: Credential) -> urllib3.PoolManager:
        with self._lock:
            same = self._pool is not None and self._pool[0][1:3] == credential[1:3]
            if self._pool is None or not same:
                self._pool = (credential, self._opened(self._access, credential))
            return self._pool[1]


def _opened(access: Access, credential: Credential) -> urllib3.PoolManager:
    options: dict[str, Any] = {
        "maxsize": _CONNECTIONS,
        # A kept connection may have been closed by the server: every request here may be sent twice.
        "retries": urllib3.Retry(
            connect=0, read=1, redirect=0, status=0, other=0, allowed_methods=None, respect_retry_after_header=False
        ),
    }
    if access.server.startswith("https"):
        options["ssl_context"] = _trust(access, credential)
        if access.tls_server_name:
            options["server_hostname"] = options["assert_hostname"] = access.tls_server_name
    proxy = access.proxy_url or _ambient_proxy(access.server)
    return urllib3.ProxyManager(proxy, **options) if proxy else urllib3.PoolManager(**options)


def _trust(access: Access, credential: Credential) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=access.ca.decode() if access.ca else None)
        if access.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if credential.certificate:
            _load(context, credential)
    except (ssl.SSLError, UnicodeDecodeError, ValueError):
        raise UnreachableError("the kubeconfig's certificates can't be read") from None
    return context


def _load(context: ssl.SSLContext, credential: Credential) -> None:
    """Python reads client certificates only from files: one of our own, gone as soon as it is read."""
    handle, name = tempfile.mkstemp(prefix="client-", suffix=".pem")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(credential.certificate + b"\n" + credential.key)
        context.load_cert_chain(name)
    finally:
        Path(name).unlink()


def _ambient_proxy(server: str) -> str:
    parts = urlsplit(server)
    return "" if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme, "")


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


def _reason(error: BaseException) -> str:
    """What lies behind a failed connection, in few words."""
    chain: list[BaseException] = []
    inner: BaseException | None = error
    while inner is not None:
        chain.append(inner)
        reason = getattr(inner, "reason", None)
        inner = reason if isinstance(reason, BaseException) else inner.__cause__ or inner.__context__
    for each in reversed(chain):
        if isinstance(each, ConnectionRefusedError):
            return "connect: connection refused"
        if isinstance(each, ssl.SSLCertVerificationError):
            return f"tls: failed to verify certificate: {each.verify_message}"
        if isinstance(each, (TimeoutError, urllib3.exceptions.TimeoutError)):
            return "the server did not answer in time"
        if isinstance(each, OSError) and each.strerror:
            return each.strerror
    return type(error).__name__


def _seconds(text: str) -> float:
    return float(text) if text.isdigit() else 1.0
