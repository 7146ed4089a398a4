"""A mirror of publishers' archives on loopback: it has what a test puts there, and answers as a test says."""

import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from engine.official import Pinned


class Mirror(ThreadingHTTPServer):
    """`files`: path → content. `rules`: what is done in place of an answer, while there are any."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.rules: list[Callable[[_Handler], bool]] = []
        self.asked: list[str] = []  # the file and the range

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def put(self, pinned: Pinned | str, content: bytes) -> dict[str, str]:
        """Serves the content under a publisher's address; address → SHA-256."""
        address = pinned if isinstance(pinned, str) else pinned.address
        self.files["/" + address.removeprefix("https://")] = content
        return {address: hashlib.sha256(content).hexdigest()}


class _Handler(BaseHTTPRequestHandler):
    server: Mirror

    def do_GET(self) -> None:
        given = self.headers.get("Range", "")
        self.server.asked.append(f"{self.path.rpartition('/')[2]} {given}".strip())
        if self.server.rules and self.server.rules.pop(0)(self):
            return
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        start = int(given.removeprefix("bytes=").rstrip("-")) if given else 0
        self.send_response(206 if given else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start:])

    def log_message(self, format: str, *args: object) -> None:
        pass


def breaks_off_after(count: int) -> Callable[[_Handler], bool]:
    """A rule: so many bytes of the file, and the connection ends."""

    def answer(handler: _Handler) -> bool:
        content = handler.server.files[handler.path]
        given = handler.headers.get("Range", "")
        start = int(given.removeprefix("bytes=").rstrip("-")) if given else 0
        handler.send_response(206 if given else 200)
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        handler.wfile.write(content[start : start + count])
        handler.close_connection = True
        return True

    return answer


@contextmanager
def mirror() -> Iterator[Mirror]:
    server = Mirror()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def tar(files: Mapping[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


def zipped(files: Mapping[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()
