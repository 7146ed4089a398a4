"""What native code writes to standard error while TensorFlow starts: held back, and shown where somebody needs it.

In: a block that imports TensorFlow and asks it for GPUs. Out: nothing of what was written meanwhile, where the block ends well;
all of it where the block raises or calls `show`, and where the process dies in it.

TF_CPP_MIN_LOG_LEVEL doesn't reach all of these lines: Abseil writes those that come before its own start straight to file
descriptor 2. So the descriptor leads into a pipe meanwhile. Another process reads it, because a process that aborts shows nothing
any more. (Where this process is the first of a container and is killed, the kernel ends the reader too.)

The same file is in workloads/mnist and in workloads/scoring, because each is built by itself; a test compares the two.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_STANDARD_ERROR = 2
_SHOWN_WITHIN = 10  # seconds; the reader only copies what it has
# Reads to the pipe's end, which comes when the block ends or when this process does, and writes all of it.
_READER = "import sys; held = sys.stdin.buffer.read(); sys.stderr.buffer.write(held); sys.stderr.buffer.flush()"


class HeldBack:
    """What is held back in a block; `show` lets it be written when the block ends."""

    def __init__(self) -> None:
        self.is_shown = False

    def show(self) -> None:
        self.is_shown = True


@contextmanager
def held_back() -> Iterator[HeldBack]:
    """Holds back what is written to standard error in the block, by native code too."""
    held = HeldBack()
    try:
        reader = subprocess.Popen([sys.executable, "-I", "-S", "-c", _READER], stdin=subprocess.PIPE)
    except OSError:  # no further process can be started here: more lines are better than no work
        yield held
        return
    assert reader.stdin is not None
    sys.stderr.flush()
    before = os.dup(_STANDARD_ERROR)
    os.dup2(reader.stdin.fileno(), _STANDARD_ERROR)
    reader.stdin.close()
    try:
        yield held
    except BaseException:
        held.show()
        raise
    finally:
        sys.stderr.flush()
        if not held.is_shown:
            reader.kill()
        os.dup2(before, _STANDARD_ERROR)
        os.close(before)
        with suppress(subprocess.TimeoutExpired):
            reader.wait(_SHOWN_WITHIN)
