"""gunicorn's settings where azmlinfsrv, which starts it, has no option for them. `serve.py` names this file to it.

Threads, so that a client whose body is slow holds one of many and connections are kept; how many requests are at work at once is
`score.py`'s matter. With several GPUs each worker gets one.
"""

import os

from gunicorn.glogging import Logger
from image_scoring import limits
from image_scoring.slow_clients import THREADS
from image_scoring.worker import PatientWorker

_LIMITS = limits.read(os.environ)


class logger_class(Logger):  # noqa: N801  # the setting's name
    """azmlinfsrv logs each request itself."""

    def access(self, *_request) -> None: ...


worker_class = PatientWorker
threads = THREADS
control_socket_disable = True  # one socket for all servers of a user, which nothing here asks
keepalive = 75  # seconds; longer than routers keep idle connections, so that the server isn't the one that closes


def post_fork(_server, worker) -> None:
    gpus = [name for name in os.environ.get("SCORING_GPUS", "").split(",") if name]
    if len(gpus) > 1:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus[worker.age % len(gpus)]


def pre_request(_worker, request) -> None:
    """A body that `score.py` won't read leaves a connection on which no second request can follow: the client is told."""
    said = dict(request.headers)
    if "TRANSFER-ENCODING" in said or int(said.get("CONTENT-LENGTH", "0")) > _LIMITS.body_bytes:
        request.force_close()
