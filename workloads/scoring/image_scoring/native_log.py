"""Holds back what native code writes to standard error while TensorFlow starts, and shows it if needed.

The output of the block is discarded if it succeeds, and shown if it raises, says so, or if the process dies in it.

TF_CPP_MIN_LOG_LEVEL doesn't affect all lines: Abseil writes early ones directly to file descriptor 2. So the descriptor is
replaced by a pipe. Another process reads it, because an aborting process can't show anything. (If this process is the first of a
container and is killed, the kernel kills the reader too.)

The same file is in workloads/mnist and in workloads/scoring, because each is built by itself; a test compares the two.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event

_STANDARD_ERROR = 2
_SHOWN_WITHIN = 10  # seconds; the reader only copies what it has
# Reads until the pipe is closed, at the end of the block or of this process, and writes everything.
_READER = "import sys; held = sys.stdin.buffer.read(); sys.stderr.buffer.write(held); sys.stderr.buffer.flush()"


@contextmanager
def held_back() -> Iterator[Event]:
    """Holds back standard error in the block, including that of native code. The block sets the event to have it shown."""
    shown = Event()
    try:
        reader = subprocess.Popen([sys.executable, "-I", "-S", "-c", _READER], stdin=subprocess.PIPE)
    except OSError:  # if no process can be started, the extra lines are acceptable
        yield shown
        return
    assert reader.stdin is not None
    sys.stderr.flush()
    before = os.dup(_STANDARD_ERROR)
    os.dup2(reader.stdin.fileno(), _STANDARD_ERROR)
    reader.stdin.close()
    try:
        yield shown
    except BaseException:
        shown.set()
        raise
    finally:
        sys.stderr.flush()
        if not shown.is_set():
            reader.kill()
        os.dup2(before, _STANDARD_ERROR)
        os.close(before)
        with suppress(subprocess.TimeoutExpired):
            reader.wait(_SHOWN_WITHIN)
