"""Reads a conda file as a Python version and pip requirements, which uv installs from PyPI.

Channels aren't used: a package that only conda has makes the build fail.
"""

import asyncio
from pathlib import Path
from typing import NamedTuple

from azure_gpu.formats.conda_file import CondaFileError, Package, read
from localazure.containers.build_log import BuildLog
from localazure.containers.environments import Environments, Requirements
from localazure.containers.images import Image
from localazure.folder import default_cache

SERVER = "azureml-inference-server-http"
DEFAULTS = "azureml-defaults"  # brings the server too
DEFAULT_PYTHON = "3.12"  # of mcr.microsoft.com/azureml/minimal-py312-inference
_OF_CONDA_ALONE = frozenset({"python", "pip", "setuptools", "wheel", "conda", "libgcc", "libstdcxx-ng"})


class CondaEnvironment(NamedTuple):
    """A Python version with requirements."""

    python: str  # "3.12"
    requirements: str  # lines of a requirement file
    has_server: bool


def environment(text: str) -> CondaEnvironment:
    """The environment of a conda file's text. CondaFileError."""
    packages = read(text)
    python = next((each for each in packages if each.name == "python"), None)
    lines = [_line(each) for each in packages if each.pip or each.name not in _OF_CONDA_ALONE]
    names = {each.name for each in packages}
    return CondaEnvironment(_version(python), "".join(f"{line}\n" for line in lines), bool(names & {SERVER, DEFAULTS}))


async def image(text: str, log: Path, root: Path, workdir: str) -> tuple[Image, bool]:
    """An image with the packages of a conda file's text and nothing else, and whether the server is among them.

    `log`: where the output of making it goes; `root`: an empty folder. CondaFileError, BuildFailedError.
    """
    requested = environment(text)
    build_log = BuildLog(log)
    try:
        requirements = (Requirements(requested.requirements),)
        folder = await Environments(default_cache()).make(requested.python, requirements, "the conda file", build_log)
    finally:
        build_log.close()
    await asyncio.to_thread(root.mkdir, mode=0o700, parents=True, exist_ok=True)
    made = Image(digest=f"sha256:{folder.name}", root=root, environment=folder, entrypoint=(), cmd=(), env={}, workdir=workdir)
    return made, requested.has_server


def _version(python: Package | None) -> str:
    digits = "".join(each if each.isdigit() or each == "." else " " for each in python.constraint).split() if python else []
    if not digits:
        return DEFAULT_PYTHON
    parts = digits[0].split(".")
    if len(parts) < 2:
        raise CondaFileError(f"python without a minor version: '{python.text if python else ''}'")
    return ".".join(parts[:2])


def _line(package: Package) -> str:
    if package.pip:
        return package.text.strip()
    extras = f"[{','.join(package.extras)}]" if package.extras else ""
    version = package.constraint.split("=")
    if package.constraint.startswith("=") and not package.constraint.startswith("=="):
        number = version[1].strip()  # `numpy=1.26`, or with a build: `numpy=1.26=py312h_0`
        exact = number if number.endswith("*") or number.count(".") >= 2 else f"{number}.*"
        return f"{package.name}{extras}=={exact}"
    return f"{package.name}{extras}{package.constraint}"
