"""Trainings and other programs with TensorFlow as forks of one process; groups of them, each with a TF_CONFIG of its own, that
tests disturb."""

import json
import os
import queue
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.embedded import until
from tests.support.patience import SECONDS
from tests.workloads.workload_runs import MNIST, Finished, run

LOST = 4


@dataclass
class Worker:
    """One process of a group."""

    process: int
    output: Path = Path()
    errors: Path = Path()
    code: int | None = None

    @property
    def said(self) -> str:
        return self.output.read_text() if self.output.exists() else ""

    def finished(self) -> Finished:
        assert self.code is not None, "it runs still"
        return Finished(self.code, self.said, self.errors.read_text())


@dataclass
class Trainings:
    """Starts trainings, and programs in their environment, as forks of one process with TensorFlow in it."""

    python: Path
    running: dict[int, Worker] = field(default_factory=dict)

    def __post_init__(self) -> None:
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "PYTHONPATH": str(MNIST)}
        environment.pop("TF_CONFIG", None)
        self._server = subprocess.Popen(
            [self.python, Path(__file__).with_name("forked_trainings.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=MNIST,
        )  # fmt: skip
        self._started: queue.Queue[int | None] = queue.Queue()  # None when the server has ended
        threading.Thread(target=self._read, daemon=True).start()

    def start(self, folder: Path, *arguments: str | Path, config: str = "", environment: Mapping[str, str] = {}) -> Worker:
        options = ("--output-dir", folder, "--precision", "float32", "--min-accuracy", "0", *arguments)
        return self._fork(folder, options, {"TF_CONFIG": config, **environment})

    def run(self, folder: Path, program: str, *arguments: str | Path) -> Finished:
        """Runs a program to its end; what it writes is in `folder`."""
        (ended,) = self.wait([self._fork(folder, arguments, {}, program)])
        return ended

    def train(self, folder: Path, *arguments: str | Path, environment: Mapping[str, str] = {}) -> Finished:
        """One training to its end."""
        (ended,) = self.wait([self.start(folder, *arguments, environment=environment)])
        return ended

    def _fork(self, folder: Path, arguments: Sequence[str | Path], environment: Mapping[str, str], program: str = "") -> Worker:
        folder.mkdir(parents=True, exist_ok=True)
        output, errors = folder / "output.txt", folder / "errors.txt"
        wanted = {
            "arguments": [str(each) for each in arguments],
            "environment": dict(environment),
            "output": str(output),
            "errors": str(errors),
            **({"program": program} if program else {}),
        }
        output.unlink(missing_ok=True)
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(wanted) + "\n")
        self._server.stdin.flush()
        started = self._started.get(timeout=SECONDS)
        assert started is not None, f"the process that starts trainings has ended, with code {self._server.wait()}"
        worker = self.running[started]
        worker.output, worker.errors = output, errors
        return worker

    def group(self, folder: Path, size: int, *arguments: str | Path) -> list[Worker]:
        """`size` workers; what the first one writes is in `folder`/0."""
        addresses = [f"127.0.0.1:{port}" for port in free_ports(size)]
        return [
            self.start(
                folder / str(index),
                *arguments,
                config=json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}),
            )
            for index in range(size)
        ]

    def wait(self, workers: Sequence[Worker]) -> list[Finished]:
        until(lambda: all(worker.code is not None for worker in workers), "the workers' end")
        return [worker.finished() for worker in workers]

    def succeed(self, workers: Sequence[Worker]) -> list[Finished]:
        ended = self.wait(workers)
        assert [each.code for each in ended] == [0] * len(workers), [each.stderr for each in ended]
        return ended

    def stop(self) -> None:
        kill([worker for worker in self.running.values() if worker.code is None])
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(SECONDS)  # it may be importing still

    def _read(self) -> None:
        assert self._server.stdout is not None
        for line in self._server.stdout:
            told = json.loads(line)
            if "started" in told:
                self.running[told["started"]] = Worker(told["started"])
                self._started.put(told["started"])
            else:
                self.running[told["ended"]].code = told["code"]
        self._started.put(None)


# The largest difference of any array of two checkpoints.
DIFFERENCE = """
import sys
import numpy as np
first, second = (np.load(path) for path in sys.argv[1:])
assert first.files == second.files
print(max(float(np.abs(first[name] - second[name]).max()) for name in first.files if name != "header"))
"""


def difference(python: Path, first: Path, second: Path) -> float:
    compared = run([python, "-c", DIFFERENCE, first, second], MNIST)
    assert compared.code == 0, compared.stderr
    return float(compared.stdout)


def same_arrays(python: Path, first: Path, second: Path) -> bool:
    return difference(python, first, second) == 0


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
        return [listener.getsockname()[1] for listener in listeners]


def kill(workers: Sequence[Worker]) -> None:
    for worker in workers:
        with suppress(ProcessLookupError):  # it has just ended by itself, and its code isn't here yet
            os.kill(worker.process, signal.SIGKILL)


def at_step(worker: Worker, step: int) -> Callable[[], bool]:
    """Whether the worker has trained so far, or has ended."""
    return lambda: f"Accuracy at step {step}:" in worker.said or worker.code is not None
