"""Running a workload as a program, and files in MNIST's form. Used by the tests of this folder."""

import fcntl
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from uv import find_uv_bin

from workloads.mnist.mnist_training import files

WORKLOADS = Path(__file__).parents[2] / "workloads"
MNIST = WORKLOADS / "mnist"
VECTOR_ADD = WORKLOADS / "vector_add"
SCORING = WORKLOADS / "scoring"


@dataclass(frozen=True)
class Finished:
    """A program that has ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[str]:
        return self.stdout.splitlines()

    @property
    def report(self) -> dict:
        """The last line of standard output, which has to be JSON."""
        return json.loads(self.lines[-1])


def run(command: Sequence[str | Path], cwd: Path, **environment: str) -> Finished:
    """Runs `command` to its end, which it comes to in ten minutes: device code is compiled for every generation of GPUs."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def cache_folder() -> Path:
    """The user's cache for what tests need and take long to make."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "azure-gpu" / "test-environments"
    cache.mkdir(parents=True, exist_ok=True)
    return cache


def made_once(folder: Path, make: Callable[[], object]) -> None:
    """Lets one of several test workers `make` the folder, and again where an earlier attempt broke off."""
    complete = folder.with_name(f"{folder.name}.complete")
    with folder.with_name(f"{folder.name}.lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            make()
            complete.touch()


def locked_python(workload: Path) -> Path:
    """The Python of a workload's locked environment, kept in the user's cache under the lock's hash."""
    lock = (workload / "requirements.lock").read_text()
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


def models(python: Path, folder: Path) -> Path:
    """`folder` with the models of `scoring_models.py`, which TensorFlow makes once for each machine and lock."""
    program = Path(__file__).with_name("scoring_models.py")
    made = cache_folder() / f"models-{hashlib.sha256(str(python).encode() + program.read_bytes()).hexdigest()[:16]}"

    def make() -> None:
        made.mkdir()
        done = run([python, program, made], made, TF_CPP_MIN_LOG_LEVEL="2")
        assert done.code == 0, done.stderr

    made_once(made, make)
    shutil.copytree(made, folder, dirs_exist_ok=True)
    return folder


def build_vector_add(folder: Path, *options: str) -> str:
    """Builds vector_add, without a warning, once for its files, these options and this compiler. `folder` becomes a copy; what
    CMake said is returned."""
    compiler = run([os.environ.get("CXX") or "c++", "--version"], VECTOR_ADD).stdout
    told = hashlib.sha256("\0".join([compiler, *options]).encode())
    for file in sorted(each for each in VECTOR_ADD.rglob("*") if each.is_file()):
        told.update(str(file.relative_to(VECTOR_ADD)).encode() + b"\0" + file.read_bytes() + b"\0")
    made = cache_folder() / f"vector_add-{told.hexdigest()[:16]}"

    def make() -> None:
        configured = run(["cmake", "-S", VECTOR_ADD, "-B", made, *options], VECTOR_ADD)
        assert configured.code == 0, configured.stderr
        built = run(["cmake", "--build", made, "--parallel", "2"], VECTOR_ADD)
        assert built.code == 0, built.stdout + built.stderr
        assert "warning" not in built.stdout + built.stderr
        (made / "configured.txt").write_text(configured.stdout)

    made_once(made, make)
    shutil.copytree(made, folder, dirs_exist_ok=True)
    return (folder / "configured.txt").read_text()


def write_data(folder: Path, *, train: int = 40, test: int = 20, side: int = 8, compress: bool = False) -> Path:
    """Four IDX files that fit each other: class `n` is an image with `n` bright rows' worth of pixels."""
    folder.mkdir(parents=True, exist_ok=True)
    for count, images, labels in ((train, files.TRAIN_IMAGES, files.TRAIN_LABELS), (test, files.TEST_IMAGES, files.TEST_LABELS)):
        digits = [number % 10 for number in range(count)]
        pixels = b"".join(bytes([25 * digit] * side * side) for digit in digits)
        write_idx(folder, images, files.Array((count, side, side), pixels), compress)
        write_idx(folder, labels, files.Array((count,), bytes(digits)), compress)
    return folder


def write_idx(folder: Path, kind: files.FileKind, array: files.Array, compress: bool = False) -> Path:
    """One IDX file under its usual name."""
    content = files.encode(array)
    path = folder / (f"{kind.name}.gz" if compress else kind.name)
    path.write_bytes(gzip.compress(content) if compress else content)
    return path
