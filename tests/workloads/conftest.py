"""What the tests of the workloads share: MNIST's own environment, and the training as a program."""

import hashlib
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from uv import find_uv_bin

from tests.workloads.workload_runs import MNIST, Finished, cache_folder, made_once, run


@pytest.fixture(scope="session")
def mnist_python() -> Path:
    """The Python of MNIST's locked environment, kept in the user's cache under the lock's hash and made once for all workers."""
    lock = (MNIST / "requirements.lock").read_text()
    if not Path("/proc/driver/nvidia/version").exists():  # gigabytes that do nothing without a driver
        lock = "".join(part for part in re.split(r"(?m)^(?=[a-z0-9])", lock) if not part.startswith("nvidia-"))
    folder = cache_folder() / hashlib.sha256(lock.encode()).hexdigest()[:16]
    python = folder / "bin" / "python"

    def make() -> None:
        subprocess.run([find_uv_bin(), "venv", "--quiet", "--python", "3.11", folder], check=True)
        (folder / "requirements.lock").write_text(lock)
        install = [find_uv_bin(), "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--compile-bytecode"]
        subprocess.run([*install, "--python", python, "-r", folder / "requirements.lock"], check=True)

    made_once(folder, make)
    return python


@pytest.fixture
def train(mnist_python: Path) -> Callable[..., Finished]:
    """Runs the training in its own environment, with options as arguments."""
    return lambda *options: run([mnist_python, "-m", "mnist_training", *options], MNIST)


@pytest.fixture
def refuse(tmp_path: Path) -> Callable[..., Finished]:
    """Runs the training where TensorFlow is missing: enough for whatever has to be refused before it is needed."""
    return lambda *options: run([sys.executable, "-m", "mnist_training", "--output-dir", tmp_path / "output", *options], MNIST)
