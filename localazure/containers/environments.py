"""Python environments in place of an image's Python, with pip and what `pip install -r FILE` installs into an image.

A virtual environment lies in the cache, made with uv, keyed by a hash of its contents and shared by all images that request the
same. A half-made one lacks its marker and is made again.
"""

import asyncio
import hashlib
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import uv

from localazure.containers import machine
from localazure.containers.build_log import BuildLog
from localazure.containers.locks import alone

NVIDIA_PREFIX = "nvidia-"  # NVIDIA's libraries as Python packages; gigabytes that a machine without a driver has no use for
_MARKER = ".complete"
_PIP = """#!{python}
import sys
from pip._internal.cli.main import main
sys.exit(main())
"""


@dataclass(frozen=True, slots=True)
class Requirements:
    """What one `pip install -r` requests: the file's text, and pip's options that change what is installed."""

    text: str
    options: tuple[str, ...] = ()


class Environments:
    """The environments of this machine, below the cache folder."""

    def __init__(self, cache: Path) -> None:
        self._folder = cache / "environments"

    async def make(self, python: str, requirements: tuple[Requirements, ...], step: str, log: BuildLog) -> Path:
        """The environment with these packages, made where it doesn't exist yet. BuildFailedError where uv can't."""
        requested = tuple(_for_this_machine(one, log) for one in requirements)
        folder = self._folder / _key(python, requested)
        async with alone(folder.with_suffix(".lock")):
            if (folder / _MARKER).exists():
                log.say(f"the Python environment {folder.name} is there already")
                await asyncio.to_thread(add_pip, folder, log)  # one of an earlier version has none
                return folder
            shutil.rmtree(folder, ignore_errors=True)
            await self._create(folder, python, step, log)
            for number, one in enumerate(requested):
                file = folder / f"requirements-{number}.txt"
                file.write_text(one.text, encoding="utf-8")
                install = [uv.find_uv_bin(), "pip", "install", "--python", str(folder / "bin" / "python"), "-r", str(file)]
                await log.run(step, [*install, *one.options], folder, machine.fetching_environment())
            await asyncio.to_thread(add_pip, folder, log)
            (folder / _MARKER).write_text(json.dumps({"python": python}), encoding="utf-8")
        return folder

    async def _create(self, folder: Path, python: str, step: str, log: BuildLog) -> None:
        environment = {**machine.fetching_environment(), "UV_PYTHON_DOWNLOADS": "never"}
        interpreter = await asyncio.to_thread(_interpreter, python, environment)
        if interpreter is None:
            log.say(
                f"this machine has no Python {python}; the image gets Python {sys.version_info.major}.{sys.version_info.minor}"
            )
        await log.run(
            step,
            [uv.find_uv_bin(), "venv", "--no-project", "--python", interpreter or sys.executable, str(folder)],
            self._folder,
            environment,
        )


def _interpreter(version: str, environment: Mapping[str, str]) -> str | None:
    """The Python of a version ("3.12") that this machine has, by uv, which asks what it finds; None where there is none."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    find = [uv.find_uv_bin(), "python", "find", "--system", "--no-project", version]
    done = subprocess.run(find, capture_output=True, text=True, check=False, env=environment)
    return done.stdout.strip() if done.returncode == 0 else None


def add_pip(folder: Path, log: BuildLog) -> None:
    """pip as images of Python have it, a copy of this program's own. Without it a container would find the machine's on its path.

    Not by uv, which would fetch it: an image that installs nothing is made without a network.
    """
    version = next(folder.glob("lib/python3*")).name
    packages, programs = folder / "lib" / version / "site-packages", folder / "bin"
    if not (packages / "pip").exists():  # else the requirements brought it
        try:
            pip = importlib.metadata.distribution("pip")
        except importlib.metadata.PackageNotFoundError:
            log.say(f"{sys.executable} has no pip to copy: pip fails in containers of this image")
        else:
            for file in pip.files or ():
                if file.suffix != ".pyc" and ".." not in file.parts:
                    (packages / file).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(str(pip.locate_file(file)), packages / file)
    for name in ("pip", "pip3", version.replace("python", "pip")):
        if not (programs / name).exists():
            (programs / name).write_text(_PIP.format(python=programs / "python"), encoding="utf-8")
            (programs / name).chmod(0o755)


def _key(python: str, requirements: tuple[Requirements, ...]) -> str:
    content = [python, [sys.version_info.major, sys.version_info.minor], [[one.text, one.options] for one in requirements]]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:24]


def _for_this_machine(one: Requirements, log: BuildLog) -> Requirements:
    """Without NVIDIA's packages where there is no NVIDIA driver. Only packages that the file itself lists, as a lock does."""
    if machine.has_nvidia_driver():
        return one
    text, left_out = without_nvidia(one.text)
    if not left_out:
        return one
    log.say(f"this machine has no NVIDIA driver: {left_out} packages whose names start with {NVIDIA_PREFIX} are left out")
    # What is left would ask for them again. A file that lists them is a lock, which lists everything else too.
    return Requirements(text, tuple(dict.fromkeys((*one.options, "--no-deps"))))


def without_nvidia(text: str) -> tuple[str, int]:
    """A requirement file without the entries for NVIDIA's packages (each with its continued lines), and how many those were."""
    kept: list[str] = []
    left_out = 0
    inside = False  # inside an entry that is left out
    for line in text.splitlines():
        starts_entry = re.match(r"[A-Za-z0-9]", line) is not None
        if starts_entry:
            inside = line.lower().replace("_", "-").startswith(NVIDIA_PREFIX)
            left_out += inside
        if not inside:
            kept.append(line)
    return "\n".join(kept) + "\n", left_out
