"""The inference server with the scoring script as a process, images to send it, and requests that no HTTP client would send."""

import io
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from PIL import Image

from tests.support.embedded import until
from tests.support.patience import SECONDS
from tests.workloads.workload_runs import SCORING


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def server(python: Path, model: Path, log: Path, cwd: Path = SCORING, /, **environment: str) -> Iterator[httpx.Client]:
    """The image's entry point in its environment; a client of it once it is healthy. It ends with the block."""
    port = free_port()
    known = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    given = {"AZUREML_MODEL_DIR": str(model), "WORKER_COUNT": "1", "PYTHONDONTWRITEBYTECODE": "1", **environment}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [python, "serve.py", "--port", str(port)], cwd=cwd, env={**known, **given}, stdout=out, stderr=out
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=SECONDS, trust_env=False) as client:

            def healthy() -> bool:
                assert process.poll() is None, log.read_text()
                try:
                    return client.get("/").text == "Healthy"
                except httpx.TransportError:
                    return False

            until(healthy, "the scoring server")
            yield client
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def picture(colour: tuple[int, ...] | int, size: tuple[int, int] = (8, 8), form: str = "PNG", mode: str = "RGB") -> bytes:
    """One colour all over."""
    file = io.BytesIO()
    Image.new(mode, size, colour).save(file, form)
    return file.getvalue()


def exchange(client: httpx.Client, *parts: bytes, half_close: bool = False) -> bytes:
    """What the server answers to bytes that are sent as they are; all until it closes the connection."""
    with socket.create_connection((client.base_url.host, client.base_url.port or 80), timeout=SECONDS) as connection:
        for part in parts:
            connection.sendall(part)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        received = b""
        while more := connection.recv(65536):
            received += more
    return received
