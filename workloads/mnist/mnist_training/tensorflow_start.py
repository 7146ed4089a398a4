"""The start of TensorFlow: holds back what its native code writes, and explains in one line of the log why it finds no GPU.

TF_CPP_MIN_LOG_LEVEL doesn't affect all lines: Abseil writes early ones directly to file descriptor 2. So the descriptor is
replaced by a pipe. Another process reads it, because an aborting process can't show anything.

The same file is in workloads/mnist and in workloads/scoring, and a test compares the two: an image is built from one folder,
whose hash is its tag, so that a change to the server doesn't replace containers that train.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import NamedTuple

_STANDARD_ERROR = 2
# Reads until the pipe is closed, at the end of the block or of this process, and writes everything.
_READER = "import sys; held = sys.stdin.buffer.read(); sys.stderr.buffer.write(held); sys.stderr.buffer.flush()"
_VISIBLE = "CUDA_VISIBLE_DEVICES"
_DRIVER = "proc/driver/nvidia/version"  # the kernel module's, in containers too
_SMI_TIMEOUT = 20  # seconds; a driver that has just been loaded takes several


@contextmanager
def held_back() -> Iterator[Event]:
    """Holds back standard error in the block, including that of native code. It is shown if the block sets the event or
    raises, or if the process dies in it."""
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
            reader.wait(10)  # seconds; it only copies what it has


class Absence(NamedTuple):
    is_expected: bool  # not a failure: the program just has no GPU
    reason: str

    def line(self, what: str) -> str:
        """The line for the log. `what`: what runs on the CPU."""
        return f"No GPU found: {what} runs on the CPU ({self.reason})"


def gpu_absence(environment: Mapping[str, str], root: Path = Path("/")) -> Absence:
    """Called if TensorFlow finds no GPU. `root`: of the file system."""
    has_driver = (root / _DRIVER).exists()
    devices = sorted(file.name for file in (root / "dev").glob("nvidia[0-9]*"))
    if not has_driver and not devices:
        return Absence(True, f"no NVIDIA driver: neither /{_DRIVER} nor /dev/nvidia0 exists")
    if environment.get(_VISIBLE, "0").split(",")[0].strip() in ("", "-1"):  # CUDA uses the devices before the first invalid one
        return Absence(True, f"{_VISIBLE}={environment[_VISIBLE]!r} hides every GPU")
    if has_driver:
        version = re.search(r"Kernel Module.*?(\s\d+\.[\d.]+)", (root / _DRIVER).read_text(encoding="utf-8", errors="replace"))
        what = f"the NVIDIA driver{version[1] if version else ''} is there"
    else:
        what = f"/dev/{devices[0]} is there, but no NVIDIA driver"
    return Absence(False, f"{what}, and TensorFlow can't use it; {_nvidia_smi()}")


def _nvidia_smi() -> str:
    try:
        answer = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=_SMI_TIMEOUT, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return "nvidia-smi not found" if isinstance(error, FileNotFoundError) else f"nvidia-smi failed: {error}"
    output = " ".join((answer.stdout + answer.stderr).split())
    return f"nvidia-smi says: {output or f'nothing, and ends with exit code {answer.returncode}'}"
