"""The kind of gunicorn worker that serves: threads, none of which waits without end for a client.

In: a connection. Out: what gunicorn's own worker with threads does with it, with two differences. That worker hands a
connection without a first byte back to its poller, but waits for the rest of the headers for as long as it takes; here
`slow_clients.WATCH` ends that. And it gives a connection back to the poller after each answer; here its thread waits a moment
for the next request, which saves a client that asks one thing after another the way through two other threads.
"""

import os
import select

from gunicorn.workers.gthread import TConn, ThreadWorker

from image_scoring import limits
from image_scoring.slow_clients import WATCH

_NEXT_REQUEST_MS = 50


class PatientWorker(ThreadWorker):
    def init_process(self) -> None:
        self._seconds = limits.read(os.environ).body_seconds
        super().init_process()

    def handle(self, conn: TConn) -> object:
        goes_on = self._handle_one(conn)
        # `True` means an answer that keeps the connection. A spare thread has to be left for whoever comes next.
        while goes_on is True and self.alive and self.nr_conns < self.cfg.threads and _has_next(conn):
            goes_on = self._handle_one(conn)
        return goes_on

    def _handle_one(self, conn: TConn) -> object:
        WATCH.begin(conn.sock, self._seconds)
        try:
            return super().handle(conn)
        finally:
            WATCH.end(conn.sock)


def _has_next(conn: TConn) -> bool:
    if conn.is_http2 or conn.parser.unreader.buf.getbuffer().nbytes:  # gunicorn sees to what it has read already
        return False
    poll = select.poll()
    poll.register(conn.sock, select.POLLIN)
    return bool(poll.poll(_NEXT_REQUEST_MS))
