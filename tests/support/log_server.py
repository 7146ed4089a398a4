"""A server on loopback that streams a container's log as Container Apps does: chunked plain text, until it is told to end."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


class LogServer:
    """`streams`: what each request gets, one list of lines a request; the last for all that come after."""

    def __init__(self, streams: list[list[str]], *, status: int = 200) -> None:
        self.streams = streams
        self.asked: list[tuple[str, dict[str, str], str]] = []  # path, query, token
        self.hold = threading.Event()  # until it is set, a stream that is followed stays open behind its lines
        self.hold.set()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:  # the name that http.server calls
                parts = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                server.asked.append((parts.path, query, self.headers.get("Authorization", "")))
                self.send_response(status)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                lines = server.streams.pop(0) if len(server.streams) > 1 else server.streams[0]
                for line in lines:
                    self._chunk(f"{line}\n".encode())
                if query.get("follow") == "true":
                    server.hold.wait(30)
                self._chunk(b"")

            def _chunk(self, data: bytes) -> None:
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

            def log_message(self, format: str, *args: Any) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # pyright: ignore[reportAttributeAccessIssue]  # who listens may go away
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        self.hold.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
