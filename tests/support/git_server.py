"""A git server as the engine fetches packages from: TLS, a host's name and no port, which the engine would take for a part of it.

git's `http-backend` stands behind Python's HTTP server on loopback, and a proxy leads to it whoever asks for that host.
"""

import os
import select
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import trustme

HOST = "git.example.com"
_PIECE = 65536  # bytes that are passed on at a time


class GitServer(NamedTuple):
    url: str
    proxy: str
    """What HTTPS_PROXY has to be."""
    certificate: bytes
    """Of the authority that its clients have to trust, in PEM."""


@contextmanager
def serving(repositories: Path) -> Iterator[GitServer]:
    """Serves the bare repositories below a folder, to be read: `<url>/<owner>/<repository>.git`."""

    class Backend(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["Content-Length"])))

        def _answer(self, body: bytes) -> None:
            path, _, query = self.path.partition("?")
            asked = {
                "GIT_PROJECT_ROOT": str(repositories),
                "GIT_HTTP_EXPORT_ALL": "1",
                "REQUEST_METHOD": self.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }
            command = ["git", "http-backend"]
            done = subprocess.run(command, input=body, env={**os.environ, **asked}, stdout=subprocess.PIPE, check=True)
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
            self.send_response(int(headers.pop("Status", "200").split()[0]))
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(HOST).configure_cert(context)
    backend = ThreadingHTTPServer(("127.0.0.1", 0), Backend)
    backend.socket = context.wrap_socket(backend.socket, server_side=True)

    class Proxy(BaseHTTPRequestHandler):
        """Leads whoever asks for another host there, such as an installer to its registry."""

        def do_CONNECT(self) -> None:
            host, _, port = self.path.rpartition(":")
            with socket.create_connection(("127.0.0.1", backend.server_port) if host == HOST else (host, int(port))) as far:
                self.send_response(200)
                self.end_headers()
                others = {self.connection: far, far: self.connection}
                while True:
                    for each in select.select(list(others), [], [])[0]:
                        piece = each.recv(_PIECE)
                        if not piece:
                            return
                        others[each].sendall(piece)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ExitStack() as running:
        proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        for server in (backend, proxy):
            running.callback(server.server_close)
            thread = Thread(target=server.serve_forever)
            thread.start()
            running.callback(thread.join)
            running.callback(server.shutdown)
        yield GitServer(f"https://{HOST}", f"http://127.0.0.1:{proxy.server_port}", authority.cert_pem.bytes())
