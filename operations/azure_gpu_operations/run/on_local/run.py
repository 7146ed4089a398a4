"""A run on this machine: creates its environment or image, starts it, and returns its exit code.

The program inherits standard output and error, and gets Ctrl-C from the terminal. Python environments are cached, one per content
of a requirements file. They are created with uv if available, else with pip, in a temporary folder that is then renamed, so that
an incomplete one is never used.
"""

import contextlib
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from azure_gpu.catalog.services.machines import smi
from azure_gpu.formats.build_context import archive
from azure_gpu_operations.exit_codes import TIMED_OUT
from azure_gpu_operations.run import gpu_confirmation
from azure_gpu_operations.run.on_local.plan import Plan as Planned, container_command
from azure_gpu_operations.run.protocol import Cost, Outcome, Output, RunError, Say
from azure_gpu_operations.run.target import RunMethod, Target, run_name

LAST_LINES = 25
_DIGITS = 16


def python_of(requirements: str, *, locked: bool, say: Say) -> Path:
    """The environment's Python; the current Python without requirements."""
    if not requirements.strip():
        return Path(sys.executable)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    digest = hashlib.sha256(f"{version}\0{locked}\0{requirements}".encode()).hexdigest()[:_DIGITS]
    folder = cache() / f"run-{digest}"
    python = _python_in(folder)
    if not python.exists():
        say(f"creating a Python environment for the requirements in {folder}")
        _make_environment(folder, requirements, locked=locked)
    return python


def cache() -> Path:
    """The cache folder of environments."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "azure-gpu" / "environments"


def _make_environment(folder: Path, requirements: str, *, locked: bool) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-", ignore_cleanup_errors=True) as made:
        place = Path(made) / "environment"
        file = Path(made) / "requirements.txt"
        file.write_text(requirements, encoding="utf-8")
        flags = ["--no-deps", "--require-hashes"] if locked else []
        uv = _uv()
        if uv:
            _done([*uv, "venv", "--quiet", "--python", sys.executable, str(place)])
            _done([*uv, "pip", "install", "--quiet", "--python", str(_python_in(place)), *flags, "-r", str(file)])
        else:
            _done([sys.executable, "-m", "venv", str(place)])
            _done(
                [
                    str(_python_in(place)),
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                    *flags,
                    "-r",
                    str(file),
                ]
            )
        with contextlib.suppress(OSError):  # another run has created it
            place.rename(folder)


def _uv() -> list[str]:
    found = shutil.which("uv")
    if found:
        return [found]
    return [sys.executable, "-m", "uv"] if importlib.util.find_spec("uv") is not None else []


def _python_in(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _done(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join((done.stderr or done.stdout).splitlines()[-LAST_LINES:])
        raise RunError(f"the requirements can't be installed:\n{last}")


_SMI_SECONDS = 20  # a driver that has just been loaded takes several
_END_SECONDS = 10  # between SIGTERM and SIGKILL


@contextmanager
def plan(planned: Planned, target: Target, timeout_minutes: float | None, output: Output) -> Iterator["LocalRun"]:
    """Creates its environment or image."""
    say = output.say
    gpus = _confirm(say)
    name = run_name(target)
    if planned.method is RunMethod.CONTAINER:
        image = _built(planned, say) if planned.context is not None else planned.image
        words = container_command(planned, image, name, gpus=gpus, secrets=target.secrets)
        more: Mapping[str, str] = target.secrets
    else:
        python = python_of(planned.requirements, locked=planned.locked, say=say)
        words = [str(python), *planned.words]
        path = os.pathsep.join(filter(None, (planned.search, os.environ.get("PYTHONPATH", ""))))
        more = {"PYTHONUNBUFFERED": "1", **planned.environment, **target.secrets, **({"PYTHONPATH": path} if path else {})}
    yield LocalRun(planned, target, name, words, {**os.environ, **more}, timeout_minutes, output)


class LocalRun:
    """One process."""

    place = "here"
    can_be_left = False

    def __init__(
        self,
        planned: Planned,
        target: Target,
        name: str,
        words: list[str],
        environment: Mapping[str, str],
        timeout_minutes: float | None,
        output: Output,
    ) -> None:
        self._planned, self._target, self._words, self._environment = planned, target, words, environment
        self._limit = None if timeout_minutes is None else timeout_minutes * 60
        self._say = output.say
        self._process: subprocess.Popen[Any] | None = None
        self.name = name

    def start(self) -> None:
        self._say(f"started {self._target.described} here")
        try:
            self._process = subprocess.Popen(self._words, env=dict(self._environment))
        except OSError as error:
            raise RunError(f"{self._words[0]} can't be started: {error.strerror or error}") from error

    def follow(self) -> Outcome:
        assert self._process is not None, "it was started"
        try:
            code = self._process.wait(self._limit)
        except subprocess.TimeoutExpired:
            self.stop()
            return Outcome(TIMED_OUT, "stopped after its timeout")
        code = 128 - code if code < 0 else code  # as a shell reports signals
        return Outcome(code, f"exit code {code}")

    def stop(self) -> bool:
        if self._process is None:
            return False
        _end(self._process)
        if self._planned.method is RunMethod.CONTAINER:
            with suppress(OSError):
                subprocess.run([self._planned.engine, "rm", "--force", self.name], capture_output=True, check=False)
        return True

    def cost(self) -> Cost:
        return Cost("nothing is billed")

    def settle(self) -> None:
        """Nothing to clean up."""


def _confirm(say: Say) -> bool:
    """Shows the visible GPUs; returns whether there are any."""
    command = ["nvidia-smi", *smi.ARGUMENTS.split(" ")]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_SMI_SECONDS, check=True).stdout
    except FileNotFoundError:
        say(gpu_confirmation.none(""))
        return False
    except (OSError, subprocess.SubprocessError) as error:
        output = getattr(error, "stdout", None) or getattr(error, "stderr", None) or error
        say(gpu_confirmation.none(str(output).strip().splitlines()[-1]))
        return False
    for line in gpu_confirmation.of_answer(answer):
        say(line)
    return True


def _built(planned: Planned, say: Say) -> str:
    """Builds the image, with the engine's cache; returns its local name."""
    assert planned.context is not None
    image = f"azure-gpu/{planned.context.image}"
    say(f"building {image} with {planned.engine}")
    done = subprocess.run(
        [planned.engine, "build", "--quiet", "--tag", image, "-"],
        input=archive(planned.context),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        last = "\n".join(done.stderr.decode("utf-8", errors="replace").splitlines()[-LAST_LINES:])
        raise RunError(f"the image can't be built:\n{last}")
    return image


def _end(process: "subprocess.Popen[Any]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_END_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()
