"""This machine's resources for containers: NVIDIA GPUs, and the variables that package tools need."""

import os
import shutil
import subprocess
import sys
from pathlib import Path


def gpu_count() -> int:
    """The NVIDIA GPUs whose device files are there. 0 where there is no driver."""
    return sum(1 for device in Path("/dev").glob("nvidia[0-9]*") if device.name.removeprefix("nvidia").isdigit())


def has_nvidia_driver() -> bool:
    return gpu_count() > 0 or shutil.which("nvidia-smi") is not None


def interpreter(version: str, path: str) -> str | None:
    """The Python of a version ("3.12") that is on `path`; None where there is none.

    It is asked: a version manager such as pyenv has a program of that name on PATH too for a version that isn't the chosen one,
    which only prints that it can't be run.
    """
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    found = shutil.which(f"python{version}", path=path)
    if found is None:
        return None
    requested = [found, "-I", "-c", "import sys; print(sys.executable, '%d.%d' % sys.version_info[:2])"]
    try:
        done = subprocess.run(requested, capture_output=True, text=True, timeout=_ASKED_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    executable, _, answered = done.stdout.strip().rpartition(" ")
    return executable if done.returncode == 0 and answered == version else None


_ASKED_SECONDS = 20
_FETCHING = ("UV_", "PIP_", "XDG_CACHE_HOME", "SSL_CERT_", "REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


def fetching_environment() -> dict[str, str]:
    """The variables with which packages are fetched: indexes, caches, proxies, authorities. No secret of ours is among them."""
    kept = {name: value for name, value in os.environ.items() if name.upper().startswith(_FETCHING)}
    return {**kept, "PATH": os.environ.get("PATH", os.defpath), "HOME": str(Path.home())}


def build_environment(home: Path) -> dict[str, str]:
    """The variables of a build step: the machine's tools and nothing of this server's."""
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8", "TMPDIR": str(home)}
