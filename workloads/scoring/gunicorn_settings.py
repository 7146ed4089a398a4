"""Settings of gunicorn for which azmlinfsrv, which starts it, has no option. `serve.py` passes this file to it.

Workers use threads, so that a slow client blocks only one of many, and connections are kept alive; `score.py` limits concurrent
requests. With several GPUs each worker gets one. TensorFlow is imported once, before the workers are forked.
"""

import importlib
import os
from pathlib import Path

from gunicorn.glogging import Logger
from image_scoring import limits, native_log
from image_scoring.slow_clients import THREADS
from image_scoring.worker import PatientWorker

_OWN_SCRIPT = Path(__file__).resolve().with_name("score.py")
_LIMITS = limits.read(os.environ)


class logger_class(Logger):  # noqa: N801  # the setting's name
    """Without access log: azmlinfsrv logs each request."""

    def access(self, *_request) -> None: ...


worker_class = PatientWorker
threads = THREADS
control_socket_disable = True  # would be shared by all servers of a user; not used here
keepalive = 75  # seconds; longer than routers keep idle connections, so that the server isn't the one that closes


def on_starting(_server) -> None:
    """Imports TensorFlow in the process that forks the workers: each import takes 4 s of CPU, and 300 MB that forks share. The
    import starts no device and none of TensorFlow's threads. Another entry script decides for itself."""
    if Path(os.environ["AZUREML_ENTRY_SCRIPT"]) == _OWN_SCRIPT:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        with native_log.held_back():
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
