"""The kind of gunicorn worker that serves: threads, none of which waits for a client to begin, and few for one to go on.

In: a connection. Out: what gunicorn's own worker with threads does with it, with four differences. That worker hands a connection
to a thread as soon as it is there; here it gets one when its headers are, and until then it costs a place in the poller. What has
no body, such as the probe of a router, gets a thread of its own kind, so that bodies which don't arrive aren't in its way.
`slow_clients.WATCH` ends requests that take too long, and the oldest of them where too many threads wait. And a connection isn't
given back to the poller right after an answer: its thread waits a moment for the next request, which saves a client that asks one
thing after another the way through two other threads.
"""

import os
import select
import selectors
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from gunicorn.workers.gthread import TConn, ThreadWorker

from image_scoring import limits
from image_scoring.slow_clients import WATCH

_NEXT_REQUEST_MS = 50
_LONGEST_HEADERS = 16 * 1024  # bytes; whoever sends more waits in a thread
_WITHOUT_BODY = (b"GET ", b"HEAD ", b"OPTIONS ")
_SAYS_BODY = (b"content-length", b"transfer-encoding")
_SPARE = 16  # connections below gunicorn's limit, from which on the oldest that says nothing makes room


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
        """Called by the poller's thread: for a new connection, and whenever something has come on one."""
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
        """In the poller, which tells when there is more than these headers so far."""
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
        # `True` means an answer that keeps the connection. A spare thread has to be left for whoever comes next.
        while goes_on is True and self.alive and self.nr_conns < self.cfg.threads and _has_next(conn):
            goes_on = self._handle_one(conn)
        return goes_on

    def _handle_one(self, conn: TConn) -> object:
        WATCH.begin_thread(conn.sock, self._seconds)
        try:
            return super().handle(conn)
        finally:
            WATCH.end(conn.sock)


def _arrived(conn: TConn) -> bytes | None:
    """What of the next request is here, which stays to be read; None where the connection has ended, or gunicorn sees to it."""
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
    if conn.is_http2 or conn.parser.unreader.buf.getbuffer().nbytes:  # gunicorn sees to what it has read already
        return False
    poll = select.poll()
    poll.register(conn.sock, select.POLLIN)
    return bool(poll.poll(_NEXT_REQUEST_MS))
