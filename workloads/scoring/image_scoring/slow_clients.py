"""Clients that don't finish what they began: how long a request may take to arrive, and what happens then.

In: a connection and the seconds it has. Out: after that time its reading side is closed, so that the thread which waits for it
goes on and answers 408. One thread watches all connections of a process; a request that arrives whole costs it two entries in
a dictionary. A limit on each read alone would not do: a client that sends a byte a second passes it for hours.
"""

import socket
import threading
import time
from contextlib import suppress

_LOOKS_EVERY = 0.25  # seconds
_BODY = b'{"message":"the request line and headers took too long","expected":"a whole request, sent without pauses"}'
_TOO_SLOW = (
    b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY)
)


class _Waiting:
    """A request that hasn't arrived whole."""

    def __init__(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds
        self.in_body = False
        self.gave_up = False


class Watch:
    """Requests on their way in, by connection."""

    def __init__(self) -> None:
        self._waiting: dict[socket.socket, _Waiting] = {}
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self, connection: socket.socket, seconds: float) -> None:
        """A request is awaited, its headers first."""
        if self._thread is None:  # not earlier: a thread doesn't survive the fork of a worker
            self._start()
        self._waiting[connection] = _Waiting(seconds)

    def begin_body(self, connection: socket.socket, seconds: float) -> None:
        """Its headers are here. Workers other than `worker.PatientWorker` begin here."""
        if connection not in self._waiting:
            self.begin(connection, seconds)
        self._waiting[connection].in_body = True

    def end(self, connection: socket.socket) -> None:
        """It is here, or given up."""
        self._waiting.pop(connection, None)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="slow-clients", daemon=True)
                self._thread.start()

    def _look(self) -> None:
        while True:
            time.sleep(_LOOKS_EVERY)
            now = time.monotonic()
            for connection, waiting in list(self._waiting.items()):
                if now > waiting.until and not waiting.gave_up:
                    waiting.gave_up = True
                    _give_up(connection, waiting.in_body)


def _give_up(connection: socket.socket, in_body: bool) -> None:
    """Wakes the thread that reads. In a body `run` answers then; in the headers there is nobody but this to answer."""
    with suppress(OSError):  # the client has gone
        if in_body:
            connection.shutdown(socket.SHUT_RD)
        else:
            connection.send(_TOO_SLOW, socket.MSG_DONTWAIT)
            connection.shutdown(socket.SHUT_RDWR)


WATCH = Watch()
