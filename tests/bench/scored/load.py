"""Sends one request again and again and says how long each took. A process of its own that does nothing else, so that it isn't
what is measured: the request's bytes are ready, the answer is only counted.

In: `load.py PORT CLIENTS SECONDS REQUESTS BODY CONTENT_TYPE`; it ends after that many seconds or requests, whichever is first.
`load.py PORT,PORT,… 1 …` asks several servers in turn, some requests at a time, so that they share every mood of the machine.
Out: one JSON line a port: `{"seconds", "milliseconds": […], "failed", "first", "refusal"}`; `first` is the first answer's body,
`refusal` the first of those that failed: an answer with another status than 200, or a connection that the server closed.
"""

import itertools
import json
import socket
import sys
import threading
import time
from pathlib import Path

TURN = 25  # requests


class Client:
    """One connection with one request on it at a time; a new one where the server closes it."""

    def __init__(self, port: int, request: bytes) -> None:
        self.port, self.request = port, request
        self.socket: socket.socket | None = None

    def answer(self) -> bytes:
        """A whole answer; empty where the server has closed the connection instead."""
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        found, needed, closes = b"", 0, False
        try:
            self.socket.sendall(self.request)
            while (not needed or len(found) < needed) and (received := self.socket.recv(1 << 20)):
                found += received
                if not needed and b"\r\n\r\n" in found:
                    head = found[: found.index(b"\r\n\r\n")].lower()
                    needed = len(head) + 4 + int(head.split(b"content-length:")[1].split(b"\r\n")[0])
                    closes = b"connection: close" in head
        except ConnectionError:
            found = b""
        is_whole = bool(needed) and len(found) >= needed
        if closes or not is_whole:
            self.socket.close()
            self.socket = None
        return found if is_whole else b""


class Asked:
    """What one server has been asked, and said."""

    def __init__(self) -> None:
        self.milliseconds: list[float] = []
        self.failed, self.first, self.refusal = 0, "", ""

    def ask(self, client: Client) -> None:
        began = time.perf_counter()
        answer = client.answer()
        self.milliseconds.append((time.perf_counter() - began) * 1000)
        if not answer.startswith(b"HTTP/1.1 200"):
            self.failed += 1
            self.refusal = self.refusal or answer.decode() or "the server closed the connection"
        self.first = self.first or answer.partition(b"\r\n\r\n")[2].decode()

    def say(self, seconds: float) -> None:
        said = {"milliseconds": self.milliseconds, "failed": self.failed, "first": self.first, "refusal": self.refusal}
        print(json.dumps({"seconds": seconds, **said}))


def at_once(port: int, clients: int, seconds: float, requests: int, request: bytes) -> None:
    """Clients beside each other, each with its next request as soon as it has its answer."""
    asked, numbers, started = Asked(), itertools.count(), time.perf_counter()

    def run() -> None:
        client = Client(port, request)
        while next(numbers) < requests and time.perf_counter() - started < seconds:
            asked.ask(client)

    threads = [threading.Thread(target=run) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asked.say(time.perf_counter() - started)


def in_turn(ports: list[int], seconds: float, requests: int, request: bytes) -> None:
    """One client of each server."""
    started = time.perf_counter()
    every = [(Client(port, request), Asked()) for port in ports]
    for number in range(0, requests, TURN):
        if number and time.perf_counter() - started >= seconds:
            break
        for client, asked in every:
            for _ in range(TURN):
                asked.ask(client)
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
