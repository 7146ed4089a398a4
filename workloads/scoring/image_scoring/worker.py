"""A threaded gunicorn worker whose threads don't wait for slow clients.

With gunicorn's own (27.0.1, 32 threads), 33 clients that send half a header or half a body leave a probe without an answer for
as long as they like. This one differs in four points. A connection gets a thread when its headers have arrived, and is in
the poller until then. Requests without body, such as a router's probe, have separate threads, so that slow bodies don't block
them. `slow_clients.WATCH` ends requests that take too long to arrive, and the oldest ones if too many threads wait; one that has
arrived may take any time to answer. After an answer the thread waits briefly for the next request before it returns the
connection to the poller, which saves consecutive requests of a client the way through two other threads.
"""

import os
import select
import selectors
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from gunicorn.http.message import Request
from gunicorn.workers.gthread import TConn, ThreadWorker

from image_scoring import limits
from image_scoring.slow_clients import WATCH

_NEXT_REQUEST_MS = 50
_LONGEST_HEADERS = 16 * 1024  # bytes; a request with more waits in a thread
_WITHOUT_BODY = (b"GET ", b"HEAD ", b"OPTIONS ")
_SAYS_BODY = (b"content-length", b"transfer-encoding")
_SPARE = 16  # connections below gunicorn's limit, from which the oldest idle one is closed


class PatientWorker(ThreadWorker):
    def init_process(self) -> None:
        self._seconds = limits.read(os.environ).body_seconds
        self._quick = ThreadPoolExecutor(max_workers=2)
        super().init_process()

    def accept(self, listener: socket.socket) -> None:
        if self.nr_conns >= self.worker_connections - _SPARE:
            self._make_room()
        super().accept(listener)

    def enqueue_req(self, conn: TConn) -> None:
        """Called by the poller's thread for a new connection, and for new data on one."""
        seen, conn.seen = getattr(conn, "seen", -1), -1
        head = _arrived(conn)
        is_whole = head is None or b"\r\n\r\n" in head or len(head) >= _LONGEST_HEADERS
        if head is not None and not is_whole and len(head) != seen:  # the same again: this system has no SO_RCVLOWAT that counts
            self._wait_for_more(conn, head)
            return
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
        conn.data_ready = True
        if head is not None and is_whole and _has_no_body(head):
            done = self._quick.submit(self._handle_one, conn)
        else:
            done = self.tpool.submit(self.handle, conn)
        done.add_done_callback(lambda future: self.method_queue.defer(self.finish_request, conn, future))

    def _wait_for_more(self, conn: TConn, head: bytes) -> None:
        """Returns it to the poller until more than these headers has arrived."""
        if head:
            WATCH.begin(conn.sock, self._seconds)
        conn.seen = len(head)
        with suppress(OSError):
            unread = conn.parser.unreader.buf.getbuffer().nbytes if conn.parser else 0
            conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, len(head) - unread + 1)
        conn.sock.setblocking(False)
        conn.set_timeout()
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def _make_room(self) -> None:
        for waiting in (self.pending_conns, self.keepalived_conns):
            if waiting:
                conn = waiting.popleft()
                self.poller.unregister(conn.sock)
                WATCH.end(conn.sock)
                self.nr_conns -= 1
                conn.close()
                return

    def handle(self, conn: TConn) -> object:
        goes_on = self._handle_one(conn)
        # `True` means an answer that keeps the connection. A spare thread must be left for the next client.
        while goes_on is True and self.alive and self.nr_conns < self.cfg.threads and _has_next(conn):
            goes_on = self._handle_one(conn)
        return goes_on

    def handle_request(self, req: Request, conn: TConn) -> object:
        req.body.reader = _Arriving(req.body.reader, partial(WATCH.end, conn.sock))
        return super().handle_request(req, conn)

    def _handle_one(self, conn: TConn) -> object:
        WATCH.begin_thread(conn.sock, self._seconds)
        try:
            return super().handle(conn)
        finally:
            WATCH.end(conn.sock)


class _Arriving:
    """The reader of a body that says when it has read all of it: not every scoring script reads by `body.read`."""

    def __init__(self, reader: Any, arrived: Callable[[], None]) -> None:
        self._reader, self._arrived = reader, arrived

    def read(self, size: int) -> bytes:
        data = self._reader.read(size)
        if not data or getattr(self._reader, "length", None) == 0:  # what remains, where the length is known
            self._arrived()
        return data


def _arrived(conn: TConn) -> bytes | None:
    """Peeks at the arrived part of the next request; None if the connection has ended, or gunicorn handles it."""
    read = conn.parser.unreader.buf.getvalue() if conn.parser and not conn.is_http2 else b""
    try:
        waiting = conn.sock.recv(_LONGEST_HEADERS, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return read
    except OSError:
        return None
    return read + waiting if waiting and not conn.is_http2 else None


def _has_no_body(head: bytes) -> bool:
    headers = head.partition(b"\r\n\r\n")[0].lower()
    return head.startswith(_WITHOUT_BODY) and not any(name in headers for name in _SAYS_BODY)


def _has_next(conn: TConn) -> bool:
    if conn.is_http2 or conn.parser.unreader.buf.getbuffer().nbytes:  # gunicorn handles what it has already read
        return False
    poll = select.poll()
    poll.register(conn.sock, select.POLLIN)
    return bool(poll.poll(_NEXT_REQUEST_MS))
