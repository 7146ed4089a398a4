"""Streams a container's log as Container Apps does, in the test's process: plain text in pieces, until the stream ends."""

import threading
from collections.abc import Iterator

import requests

from tests.support.web import Answer, address


class LogServer:
    """`streams`: what each request gets, one list of lines a request; the last for all that come after."""

    url = "https://logs.example"

    def __init__(self, streams: list[list[str]], *, status: int = 200) -> None:
        self.streams = streams
        self.status = status
        self.asked: list[tuple[str, dict[str, str], str]] = []  # path, query, token
        self.read_up = threading.Event()  # set when the lines of a stream that is followed have been read
        self.hold = threading.Event()  # until it is set, a stream that is followed stays open behind its lines
        self.hold.set()

    def answer(self, request: requests.PreparedRequest, _: object) -> Answer:
        path, query = address(request)
        self.asked.append((path, query, str(request.headers.get("Authorization", ""))))
        lines = self.streams.pop(0) if len(self.streams) > 1 else self.streams[0]
        return Answer(self.status, {"Content-Type": "text/plain"}, self._body(lines, follow=query.get("follow") == "true"))

    def _body(self, lines: list[str], *, follow: bool) -> Iterator[bytes]:
        yield from (f"{line}\n".encode() for line in lines)
        if follow:
            self.read_up.set()
            self.hold.wait()
