"""The address of a folder's server: `endpoint.json`, the ports that it is bound to, and whether it answers."""

import contextlib
import json
import os
import socket
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from localazure.errors import CommandError
from localazure.folder import LocalFolder, read_json, write_json
from localazure.process import ProcessId

ANSWER_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that was started in a folder; it may be gone by now."""

    port: int
    process: ProcessId
    as_of: str  # YYYY-MM-DD, or "" for today

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}"

    @property
    def alive(self) -> bool:
        return self.process.alive


def read(folder: LocalFolder) -> Endpoint | None:
    """The folder's last server, or None where there was none."""
    stored = read_json(folder.endpoint)
    if stored is None:
        return None
    try:
        return Endpoint(stored["port"], ProcessId(stored["pid"], stored["started"]), stored["asOf"])
    except (KeyError, TypeError) as error:
        raise CommandError(f"{folder.endpoint}: {error} is missing; remove the file") from error


def write(folder: LocalFolder, endpoint: Endpoint) -> None:
    write_json(
        folder.endpoint,
        {
            "url": endpoint.url,
            "port": endpoint.port,
            "pid": endpoint.process.pid,
            "started": endpoint.process.started,
            "asOf": endpoint.as_of,
        },
    )


def bind(preferred: int) -> tuple[int, list[socket.socket]]:
    """Sockets on loopback, IPv4 and where there is one IPv6, on one port: the preferred one, or any where that is 0 or taken."""
    try:
        first = _socket(socket.AF_INET, "127.0.0.1", preferred)
    except OSError:
        first = _socket(socket.AF_INET, "127.0.0.1", 0)
    port, found = first.getsockname()[1], [first]
    with contextlib.suppress(OSError):  # `localhost` means ::1 first on many machines; there may be none
        found.append(_socket(socket.AF_INET6, "::1", port))
    return port, found


def _socket(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port that was closed just now is free
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


def answers(folder: LocalFolder, endpoint: Endpoint) -> bool:
    """Whether the server answers now."""
    try:
        ask(folder, endpoint, "GET", "/metadata/endpoints?api-version=2022-09-01")
    except OSError:
        return False
    return True


def ask(
    folder: LocalFolder, endpoint: Endpoint, method: str, path: str, body: Any = None, token: str = ""
) -> tuple[int, dict[str, Any]]:
    """One request to the server: status and JSON object. OSError where it can't be reached."""
    request = urllib.request.Request(  # noqa: S310 - the address is our own, https
        endpoint.url + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
    )
    trust = ssl.create_default_context(cafile=folder.authority_certificate)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust))
    try:
        with opener.open(request, timeout=ANSWER_SECONDS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
