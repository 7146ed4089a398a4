"""Reads a conda file as a Python version and pip requirements, which uv installs from PyPI.

Channels aren't used: a package that only conda has makes the build fail.
"""

from typing import NamedTuple

from azure_gpu.formats.conda_file import CondaFileError, Package, read

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
