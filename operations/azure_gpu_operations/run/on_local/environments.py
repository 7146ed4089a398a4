"""Cached Python environments for local runs, one per content of a requirements file.

They are created with uv if available, else with pip, in a temporary folder that is then renamed, so that an incomplete one is
never used.
"""

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from azure_gpu_operations.run.errors import RunError

LAST_LINES = 25
_DIGITS = 16

Say = Callable[[str], None]


def python_of(requirements: str, *, locked: bool, say: Say) -> Path:
    """The environment's Python; the current Python without requirements."""
    if not requirements.strip():
        return Path(sys.executable)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    digest = hashlib.sha256(f"{version}\0{locked}\0{requirements}".encode()).hexdigest()[:_DIGITS]
    folder = cache() / f"run-{digest}"
    python = _python(folder)
    if not python.exists():
        say(f"creating a Python environment for the requirements in {folder}")
        _make(folder, requirements, locked=locked)
    return python


def cache() -> Path:
    """The cache folder of environments."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "azure-gpu" / "environments"


def _make(folder: Path, requirements: str, *, locked: bool) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-", ignore_cleanup_errors=True) as made:
        place = Path(made) / "environment"
        file = Path(made) / "requirements.txt"
        file.write_text(requirements, encoding="utf-8")
        flags = ["--no-deps", "--require-hashes"] if locked else []
        uv = _uv()
        if uv:
            _run([*uv, "venv", "--quiet", "--python", sys.executable, str(place)])
            _run([*uv, "pip", "install", "--quiet", "--python", str(_python(place)), *flags, "-r", str(file)])
        else:
            _run([sys.executable, "-m", "venv", str(place)])
            _run([str(_python(place)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *flags, "-r", str(file)])
        with contextlib.suppress(OSError):  # another run has created it
            place.rename(folder)


def _uv() -> list[str]:
    found = shutil.which("uv")
    if found:
        return [found]
    return [sys.executable, "-m", "uv"] if importlib.util.find_spec("uv") is not None else []


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _run(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join((done.stderr or done.stdout).splitlines()[-LAST_LINES:])
        raise RunError(f"the requirements can't be installed:\n{last}")
