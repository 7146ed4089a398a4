"""Why TensorFlow finds no GPU, in words for one line of the log.

In: the environment variables, the file system, and what `nvidia-smi` answers. Out: the reason, and whether it is a failure: with
an NVIDIA driver or device it is one, and what native code wrote belongs to the reason.

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
    """`is_expected`: nothing is wrong, there just is no GPU for this program."""

    is_expected: bool
    reason: str

    def line(self, what: str) -> str:
        """For the log. `what`: that which runs on the CPU."""
        return f"No GPU found: {what} runs on the CPU ({self.reason})"


def explain(environment: Mapping[str, str], root: Path = Path("/")) -> Absence:
    """Called where TensorFlow finds no GPU. `root`: the file system to look at."""
    driver = _driver(root / _DRIVER)
    devices = sorted(file.name for file in (root / "dev").glob("nvidia[0-9]*"))
    if driver is None and not devices:
        return Absence(True, f"no NVIDIA driver: neither /{_DRIVER} nor /dev/nvidia0 exists")
    if environment.get(_VISIBLE, "0").split(",")[0].strip() in ("", "-1"):  # CUDA takes those before the first that isn't there
        return Absence(True, f"{_VISIBLE}={environment[_VISIBLE]!r} hides every GPU")
    what = f"the NVIDIA driver{driver} is there" if driver is not None else f"/dev/{devices[0]} is there, but no NVIDIA driver"
    return Absence(False, f"{what}, and TensorFlow can't use it; {_nvidia_smi()}")


def _driver(file: Path) -> str | None:
    """The version with a space before it, empty where the file names none; None without a driver."""
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
    said = " ".join((answer.stdout + answer.stderr).split())
    return f"nvidia-smi says: {said or f'nothing, and ends with exit code {answer.returncode}'}"
