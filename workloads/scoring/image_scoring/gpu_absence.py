"""Explains in one line of the log why TensorFlow finds no GPU.

With an NVIDIA driver or device it is a failure, and the held-back output of native code is shown too.

The same file is in workloads/mnist and in workloads/scoring, because each is built by itself; a test compares the two.
"""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_VISIBLE = "CUDA_VISIBLE_DEVICES"
_DRIVER = "proc/driver/nvidia/version"  # the kernel module's, in containers too
_SMI_TIMEOUT = 20  # seconds; a driver that has just been loaded takes several


class Absence(NamedTuple):
    """`is_expected`: not a failure; the program just has no GPU."""

    is_expected: bool
    reason: str

    def line(self, what: str) -> str:
        """The line for the log. `what`: what runs on the CPU."""
        return f"No GPU found: {what} runs on the CPU ({self.reason})"


def explain(environment: Mapping[str, str], root: Path = Path("/")) -> Absence:
    """Called if TensorFlow finds no GPU. `root`: of the file system."""
    driver = _driver(root / _DRIVER)
    devices = sorted(file.name for file in (root / "dev").glob("nvidia[0-9]*"))
    if driver is None and not devices:
        return Absence(True, f"no NVIDIA driver: neither /{_DRIVER} nor /dev/nvidia0 exists")
    if environment.get(_VISIBLE, "0").split(",")[0].strip() in ("", "-1"):  # CUDA uses the devices before the first invalid one
        return Absence(True, f"{_VISIBLE}={environment[_VISIBLE]!r} hides every GPU")
    what = f"the NVIDIA driver{driver} is there" if driver is not None else f"/dev/{devices[0]} is there, but no NVIDIA driver"
    return Absence(False, f"{what}, and TensorFlow can't use it; {_nvidia_smi()}")


def _driver(file: Path) -> str | None:
    """The version with a leading space, "" if the file has none; None without a driver."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r"Kernel Module.*?\s(\d+\.[\d.]+)", text)
    return f" {found[1]}" if found else ""


def _nvidia_smi() -> str:
    try:
        answer = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=_SMI_TIMEOUT, check=False)
    except FileNotFoundError:
        return "nvidia-smi not found"
    except (OSError, subprocess.SubprocessError) as error:
        return f"nvidia-smi failed: {error}"
    output = " ".join((answer.stdout + answer.stderr).split())
    return f"nvidia-smi says: {output or f'nothing, and ends with exit code {answer.returncode}'}"
