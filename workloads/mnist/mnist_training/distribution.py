"""Distribution over several GPUs and workers: TensorFlow's strategy, exchange of values, lost workers and devices."""

import ctypes
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

import numpy as np
import tensorflow as tf

from .group import VARIABLE, Group
from .refusal import ExitCode, RefusedError

# Ends its parent process unless that closes the pipe in time. The pipe is also closed when the parent ends.
_KEEPER = """
import os, select, signal, sys
process, seconds, ending, line, report = sys.argv[1:]
if not select.select([0], [], [], float(seconds))[0]:
    print(report, flush=True)
    print(line, file=sys.stderr, flush=True)
    os.kill(int(process), int(ending))
    if not select.select([0], [], [], 10)[0]:
        os.kill(int(process), signal.SIGKILL)
"""
# The signal with the number of the exit code: its handler is called with that number, so libc's _exit, as the handler, ends
# the process with it. Python's handlers wait for the interpreter; SIGKILL gives another code, and doesn't reach the first
# process of a container (man7.org, pid_namespaces(7): only signals that it has a handler for).
_ENDING = int(ExitCode.LOST)
_LOOK_EVERY = 2.0  # seconds
_MISSED = 3  # consecutive failed checks before a worker counts as lost
# Names of CUDA's driver API (docs.nvidia.com, "CUDA Driver API", data types, CUresult) and their texts as TensorFlow repeats
# them.
_HELD = re.compile(r"CUDA_ERROR_DEVICE_UNAVAILABLE|devices? .*(busy or unavailable)|EXCLUSIVE_PROCESS", re.IGNORECASE)
_LOST = re.compile(
    r"CUDA_ERROR_(ILLEGAL_ADDRESS|LAUNCH_FAILED|LAUNCH_TIMEOUT|ECC_UNCORRECTABLE|HARDWARE_STACK_ERROR|NOT_PERMITTED|SYSTEM_NOT_READY|"
    r"CONTEXT_IS_DESTROYED|DEINITIALIZED)|GPU is lost|unspecified launch failure|device lost",
    re.IGNORECASE,
)
# Prefixes of TensorFlow's lines about the location of an error; the error itself follows.
_PREFACE = ("Graph execution error", "Detected at node", "Traceback", "File ", "<stack traces")
# Observed form of TensorFlow 2.21's errors for files that it can't open or write: "path; the reason of the system". A
# full disk is a ResourceExhaustedError, as too little memory is. A restart doesn't help against any of these.
_FILE = re.compile(
    r"(?:\}\} )?([^;{}\n]+); (No space left on device|Disk quota exceeded|Read-only file system|Permission denied|"
    r"No such file or directory|Not a directory)"
)
_MEMORY = re.compile(r"out of memory|CUDA_ERROR_OUT_OF_MEMORY|OOM when allocating|failed to allocate", re.IGNORECASE)


def make_strategy(group: Group, gpus: Sequence[object]) -> tf.distribute.Strategy:
    """Joins the group, whose workers must all be running. `RefusedError` if this worker's address can't be used."""
    if group.size == 1:
        return tf.distribute.MirroredStrategy() if len(gpus) > 1 else tf.distribute.get_strategy()
    try:
        return tf.distribute.MultiWorkerMirroredStrategy()
    except (tf.errors.UnknownError, tf.errors.InvalidArgumentError) as error:
        reason = str(error).splitlines()[0]
        raise RefusedError([f"{VARIABLE}: this worker, {group.name(group.index)}, can't listen on its port: {reason}"]) from error


@contextmanager
def bounded(group: Group, timeout: float) -> Iterator[None]:
    """Ends this process if the block takes longer than `timeout` seconds. Another process watches it, because TensorFlow blocks
    all threads of this process while joining a group."""
    if group.size == 1:
        yield
        return
    problem = f"another worker was lost while the group was forming, or --group-timeout ({timeout:g} s) is too short"
    report = {"workload": "mnist", "exit_code": int(ExitCode.LOST), "problems": [problem], "passed": False}
    arguments = [str(os.getpid()), str(timeout), str(_ENDING), f"mnist_training: {problem}", json.dumps(report)]
    libc = ctypes.CDLL(None)
    libc.signal.argtypes, libc.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    handler = libc.signal(_ENDING, ctypes.cast(libc._exit, ctypes.c_void_p))
    keeper = subprocess.Popen([sys.executable, "-I", "-S", "-c", _KEEPER, *arguments], stdin=subprocess.PIPE)
    assert keeper.stdin is not None
    try:
        yield
    finally:
        keeper.stdin.close()
        keeper.wait()
        libc.signal(_ENDING, handler)


def exchange(strategy: tf.distribute.Strategy, group: Group, row: Sequence[int]) -> np.ndarray:
    """Returns the `row` (32-bit numbers) of every worker, in order; returns when all have called it."""
    own = np.zeros((group.size, len(row)), np.int32)
    own[group.index] = row
    if group.size == 1:
        return own

    def summed() -> tf.Tensor:
        each = strategy.run(lambda: tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, tf.constant(own)))
        return strategy.experimental_local_results(each)[0]

    return tf.function(summed, autograph=False)().numpy() // (strategy.num_replicas_in_sync // group.size)


class Watch:
    """Ends this process if the group can't continue, while TensorFlow waits for a lost worker. Each worker checks its successor.
    `end` is called from a separate thread with the message, and must not return."""

    def __init__(self, group: Group, timeout: float, end: Callable[[str], NoReturn]) -> None:
        self._group, self._timeout, self._end = group, timeout, end
        self._last = time.monotonic()
        self._stopped = threading.Event()

    def start(self) -> None:
        """Called when the group is complete."""
        self.progress()
        if self._group.size > 1:
            threading.Thread(target=self._look, daemon=True).start()

    def progress(self) -> None:
        """Called after each common step of all workers."""
        self._last = time.monotonic()

    def stop(self) -> None:
        """Stops watching: from now on workers may exit."""
        self._stopped.set()

    def _look(self) -> None:
        successor, missed = (self._group.index + 1) % self._group.size, 0
        while not self._stopped.wait(_LOOK_EVERY):
            missed = 0 if self._group.answers(successor) else missed + 1
            if self._stopped.is_set():
                return
            if missed >= _MISSED:
                self._end(lost([self._group.name(successor)]))
            if time.monotonic() - self._last >= self._timeout:
                absent = self._group.unreachable()
                who = f"nothing listens at {', '.join(absent)}" if absent else "all workers listen, but one of them is stuck"
                self._end(f"no step has ended for {self._timeout:g} s (--group-timeout): {who}")


def lost(absent: Sequence[str]) -> str:
    """Message of a worker that exits because another one was lost."""
    who = ", ".join(absent) if absent else "another worker"
    return f"{who} was lost, and the group can't continue without it; restart all workers with --resume"


def refusal(error: Exception, group: Group, batch_size: int, last: str) -> RefusedError:
    """The cause of an error of TensorFlow during training, in one line. `last`: text about the last checkpoint."""
    text = str(error)
    if file := _FILE.search(text):
        return RefusedError(
            [f"{file[1].strip()}: can't be used: {file[2]}; free some space or choose another --output-dir; {last}"]
        )
    if isinstance(error, (MemoryError, tf.errors.ResourceExhaustedError)) or _MEMORY.search(text):
        what = re.search(r"(?:shape|shape:? ?)(\[[\d,]+\])", text)
        tensor = f" for an array of {what[1]}" if what else ""
        problem = f"out of memory{tensor}: a step of --batch-size {batch_size} doesn't fit; choose a smaller one; {last}"
        return RefusedError([problem])
    if _HELD.search(text):
        why = "it is in exclusive mode and another process holds it, or it is in prohibited mode (see `nvidia-smi -q -d COMPUTE`)"
        return RefusedError([f"the GPU can't be used: {why}; CUDA says: {_first_line(text)}"], ExitCode.NO_GPU)
    if _LOST.search(text):
        return RefusedError([f"the GPU was lost: {_first_line(text)}; {last}"], ExitCode.LOST)
    if group.size > 1:
        absent = group.unreachable()
        detail = "" if absent else f" (TensorFlow says: {_first_line(text)})"
        return RefusedError([f"{lost(absent)}{detail}; {last}"], ExitCode.LOST)
    return RefusedError([f"TensorFlow failed: {_first_line(text)}; {last}"], ExitCode.LOST)


def _first_line(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line and not line.startswith(_PREFACE)), "nothing")[:300]
