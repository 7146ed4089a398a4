"""Limits the time in which a request must arrive. gunicorn has no such limit, and a client that sends a byte per second would
pass a timeout per read for hours. After that time the reading side of the connection is closed, so that its thread continues and
answers 408; so are the oldest of the waiting requests if more than MOST_WAITING threads wait."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

THREADS = 256  # of a worker; one that waits for a client costs a stack
MOST_WAITING = THREADS * 3 // 4  # the others are reserved for requests that arrive
_LOOKS_EVERY = 0.25  # seconds
_SAFE_SECONDS = 1.0  # in which a request isn't closed as the oldest: the time of a large picture on a slow network
_BODY = b'{"message":"the request took too long to arrive","expected":"a whole request, sent without pauses"}'
_TOO_SLOW = (
    b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY)
)


class _Waiting:
    """A request that hasn't arrived completely, for which a thread waits."""

    def __init__(self, seconds: float) -> None:
        self.since = time.monotonic()
        self.until = self.since + seconds
        self.in_body = self.gave_up = False


class Watch:
    """Incoming requests, by connection."""

    def __init__(self) -> None:
        self._waiting: dict[socket.socket, _Waiting] = {}
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self, connection: socket.socket, seconds: float) -> None:
        """Starts the time of a request, with its headers. The time of one that is already watched isn't extended."""
        if self._thread is None:  # not earlier: a thread doesn't survive the fork of a worker
            self._start()
        self._waiting.setdefault(connection, _Waiting(seconds))

    def begin_body(self, connection: socket.socket, seconds: float) -> None:
        """Its headers have arrived. Where `gunicorn_settings.py` isn't used, the time starts here."""
        self.begin(connection, seconds)
        self._waiting[connection].in_body = True

    def end(self, connection: socket.socket) -> None:
        """It has arrived, or was given up."""
        self._waiting.pop(connection, None)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="slow-clients", daemon=True)
                self._thread.start()

    def _look(self) -> None:
        while True:
            time.sleep(_LOOKS_EVERY)
            self.look(time.monotonic())

    def look(self, now: float) -> None:
        """Gives up late requests."""
        waiting = [(connection, each) for connection, each in list(self._waiting.items()) if not each.gave_up]
        oldest = sorted(waiting, key=lambda pair: pair[1].since)[: max(0, len(waiting) - MOST_WAITING)]
        late = {pair for pair in oldest if now - pair[1].since > _SAFE_SECONDS}
        for connection, each in late.union(pair for pair in waiting if now > pair[1].until):
            each.gave_up = True
            _give_up(connection, each.in_body)


def _give_up(connection: socket.socket, in_body: bool) -> None:
    """Wakes the reading thread. In a body `run` answers then; in the headers the answer is sent here."""
    with suppress(OSError):  # the client has gone
        if in_body:
            connection.shutdown(socket.SHUT_RD)
        else:
            connection.send(_TOO_SLOW, socket.MSG_DONTWAIT)
            connection.shutdown(socket.SHUT_RDWR)


class Arriving:
    """The reader of a body that reports when all of it has been read: not every scoring script reads by `body.read`."""

    def __init__(self, reader: Any, arrived: Callable[[], None]) -> None:
        self._reader, self._arrived = reader, arrived

    def read(self, size: int) -> bytes:
        data = self._reader.read(size)
        if not data or getattr(self._reader, "length", None) == 0:  # what remains, where the length is known
            self._arrived()
        return data


WATCH = Watch()
