"""Settings of gunicorn for which azmlinfsrv, which starts it, has no option; `serve.py` passes this file to it. Workers have
threads, so that a slow client blocks only one of many; `score.py` limits concurrent requests. With several GPUs each gets one."""

import importlib
import os
from functools import partial
from pathlib import Path

from gunicorn.glogging import Logger
from gunicorn.workers import gthread
from image_scoring import options, tensorflow_start
from image_scoring.slow_clients import THREADS, WATCH, Arriving

_OWN_SCRIPT = Path(__file__).resolve().with_name("score.py")
_LIMITS = options.limits(os.environ)
_FIRST_BYTE = 0.2  # seconds in which a new connection's thread waits for it


class logger_class(Logger):  # noqa: N801  # the setting's name
    """Without access log: azmlinfsrv logs each request."""

    def access(self, *_request) -> None: ...


class worker_class(gthread.ThreadWorker):  # noqa: N801  # as above
    """Limits the time in which a request must arrive, headers and body; one that has arrived may take any time to answer."""

    def handle(self, conn: gthread.TConn) -> object:
        # Where nothing arrives for a while, it isn't a request yet: gunicorn waits for it without a thread.
        if not conn.initialized and not conn.wait_for_data(_FIRST_BYTE):
            return gthread._DEFER
        WATCH.begin(conn.sock, _LIMITS.body_seconds)
        try:
            return super().handle(conn)
        finally:
            WATCH.end(conn.sock)

    def handle_request(self, req, conn: gthread.TConn) -> object:
        req.body.reader = Arriving(req.body.reader, partial(WATCH.end, conn.sock))
        return super().handle_request(req, conn)


threads = THREADS
worker_connections = 5000  # those that send nothing wait without a thread, for `keepalive` seconds
control_socket_disable = True  # would be shared by all servers of a user; not used here
keepalive = 75  # seconds; longer than routers keep idle connections, so that the server isn't the one that closes


def on_starting(_server) -> None:
    """Imports TensorFlow in the process that forks the workers: each import takes 4 s of CPU, and 300 MB that forks share. The
    import starts no device and none of TensorFlow's threads. Another entry script decides for itself."""
    if Path(os.environ["AZUREML_ENTRY_SCRIPT"]) == _OWN_SCRIPT:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        with tensorflow_start.held_back():
            importlib.import_module("tensorflow")


def post_fork(_server, worker) -> None:
    gpus = [name for name in os.environ.get("SCORING_GPUS", "").split(",") if name]
    if len(gpus) > 1:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus[worker.age % len(gpus)]


def pre_request(_worker, request) -> None:
    """Closes the connection after a body that `score.py` won't read, since no second request could follow."""
    headers = dict(request.headers)
    if "TRANSFER-ENCODING" in headers or int(headers.get("CONTENT-LENGTH", "0")) > _LIMITS.body_bytes:
        request.force_close()
