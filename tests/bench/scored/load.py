"""Sends one request again and again and says how long each took. A process of its own that does nothing else, so that it isn't
what is measured: the request's bytes are ready, the answer is only counted.

In: `load.py PORT CLIENTS SECONDS REQUESTS BODY CONTENT_TYPE`; it ends after that many seconds or requests, whichever is first.
`load.py PORT,PORT,… 1 …` asks several servers in turn, some requests at a time, so that they share every mood of the machine.
Out: one JSON line a port: `{"seconds", "milliseconds": […], "failed", "first", "refusal"}`; `first` is the first answer's body,
`refusal` the first of those that failed: an answer with another status than 200, or a connection that the server closed.
"""

import json
import select
import selectors
import socket
import sys
import time
from pathlib import Path

TURN = 25  # requests


class Client:
    """One connection with one request on it at a time; a new one where the server closes it."""

    def __init__(self, port: int, request: bytes) -> None:
        self.port, self.request = port, memoryview(request)
        self.socket: socket.socket | None = None

    def begin(self) -> None:
        self.began = time.perf_counter()
        self.sent, self.answer, self.needed = 0, b"", 0
        self.closes = False
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket.setblocking(False)

    def go_on(self) -> bool:
        """Sends or receives what can be; whether the answer is whole, or the server has closed the connection instead."""
        assert self.socket is not None
        try:
            if self.sent < len(self.request):
                self.sent += self.socket.send(self.request[self.sent :])
                return False
            received = self.socket.recv(1 << 20)
        except ConnectionError:
            received = b""
        self.answer += received
        if not self.needed and b"\r\n\r\n" in self.answer:
            head = self.answer[: self.answer.index(b"\r\n\r\n")].lower()
            self.needed = len(head) + 4 + int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            self.closes = b"connection: close" in head
        self.closes = self.closes or not received
        return self.is_whole or not received

    @property
    def is_whole(self) -> bool:
        return bool(self.needed) and len(self.answer) >= self.needed

    @property
    def refusal(self) -> str:
        """Why the request failed; empty if it didn't."""
        if not self.is_whole:
            return "the server closed the connection"
        return "" if self.answer.startswith(b"HTTP/1.1 200") else self.answer.decode()

    @property
    def wants(self) -> int:
        return selectors.EVENT_WRITE if self.sent < len(self.request) else selectors.EVENT_READ

    def end(self) -> None:
        if self.closes and self.socket is not None:
            self.socket.close()
            self.socket = None


class Asked:
    """What one server has been asked, and said."""

    def __init__(self) -> None:
        self.milliseconds: list[float] = []
        self.failed, self.first, self.refusal = 0, "", ""

    def has(self, client: Client) -> None:
        """A client has its answer, or none."""
        self.milliseconds.append((time.perf_counter() - client.began) * 1000)
        refusal = client.refusal
        self.failed += bool(refusal)
        self.refusal = self.refusal or refusal
        if client.is_whole:
            self.first = self.first or client.answer.split(b"\r\n\r\n", 1)[1].decode()
        client.end()

    def say(self, seconds: float) -> None:
        said = {"milliseconds": self.milliseconds, "failed": self.failed, "first": self.first, "refusal": self.refusal}
        print(json.dumps({"seconds": seconds, **said}))


def at_once(port: int, clients: int, seconds: float, requests: int, request: bytes) -> None:
    """Clients beside each other, each with its next request as soon as it has its answer."""
    selector = selectors.DefaultSelector()
    started = time.perf_counter()
    asked, begun = Asked(), 0

    def begin(client: Client) -> None:
        nonlocal begun
        begun += 1
        client.begin()
        assert client.socket is not None
        selector.register(client.socket, client.wants, client)

    for _ in range(clients):
        begin(Client(port, request))
    while selector.get_map():
        for key, _ in selector.select():
            client = key.data
            before = client.wants
            if client.go_on():
                selector.unregister(client.socket)
                asked.has(client)
                if begun < requests and time.perf_counter() - started < seconds:
                    begin(client)
            elif client.wants != before:
                selector.modify(client.socket, client.wants, client)
    asked.say(time.perf_counter() - started)


def in_turn(ports: list[int], seconds: float, requests: int, request: bytes) -> None:
    """One client of each server."""
    started = time.perf_counter()
    every = [(Client(port, request), Asked()) for port in ports]
    for number in range(0, requests, TURN):
        if number and time.perf_counter() - started >= seconds:
            break
        for client, asked in (one for one in every for _ in range(TURN)):
            client.begin()
            assert client.socket is not None
            while True:
                writes = [client.socket] if client.wants == selectors.EVENT_WRITE else []
                select.select([] if writes else [client.socket], writes, [])
                if client.go_on():
                    break
            asked.has(client)
    for _, asked in every:
        asked.say(time.perf_counter() - started)


def main(ports: list[int], clients: int, seconds: float, requests: int, body: bytes, content_type: str) -> None:
    head = f"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    if len(ports) > 1:
        in_turn(ports, seconds, requests, head.encode() + body)
    else:
        at_once(ports[0], clients, seconds, requests, head.encode() + body)


if __name__ == "__main__":
    given = sys.argv[1:]
    numbers = [int(port) for port in given[0].split(",")]
    main(numbers, int(given[1]), float(given[2]), int(given[3]), Path(given[4]).read_bytes(), given[5])
