"""The Python environment that a conda file asks for, made with uv: what pip brings, and what conda brings where PyPI has it too.

In: the file's text. Out: a Python version and a requirement file. Channels aren't asked; a package that only conda has can't be
had, and the build fails.
"""

from typing import NamedTuple

from azure_gpu.formats.conda_file import CondaFileError, CondaPackage, read

SERVER = "azureml-inference-server-http"
DEFAULTS = "azureml-defaults"  # brings the server too
DEFAULT_PYTHON = "3.12"  # of mcr.microsoft.com/azureml/minimal-py312-inference
_OF_CONDA_ALONE = frozenset({"python", "pip", "setuptools", "wheel", "conda", "libgcc", "libstdcxx-ng"})


class Wanted(NamedTuple):
    """An environment."""

    python: str  # "3.12"
    requirements: str  # lines of a requirement file
    has_server: bool


def wanted(text: str) -> Wanted:
    """CondaFileError."""
    file = read(text)
    python = file.find("python")
    lines = [_line(each) for each in file.packages if each.pip or each.name not in _OF_CONDA_ALONE]
    names = {each.name for each in file.packages}
    return Wanted(_version(python), "".join(f"{line}\n" for line in lines), bool(names & {SERVER, DEFAULTS}))


def _version(python: CondaPackage | None) -> str:
    digits = "".join(each if each.isdigit() or each == "." else " " for each in python.constraint).split() if python else []
    if not digits:
        return DEFAULT_PYTHON
    parts = digits[0].split(".")
    if len(parts) < 2:
        raise CondaFileError(f"python without a minor version: '{python.text if python else ''}'")
    return ".".join(parts[:2])


def _line(package: CondaPackage) -> str:
    if package.pip:
        return package.text.strip()
    extras = f"[{','.join(package.extras)}]" if package.extras else ""
    version = package.constraint.split("=")
    if package.constraint.startswith("=") and not package.constraint.startswith("=="):
        number = version[1].strip()  # `numpy=1.26`, or with a build: `numpy=1.26=py312h_0`
        exact = number if number.endswith("*") or number.count(".") >= 2 else f"{number}.*"
        return f"{package.name}{extras}=={exact}"
    return f"{package.name}{extras}{package.constraint}"
