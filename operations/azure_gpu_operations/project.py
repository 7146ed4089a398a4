"""The project that the verbs work on: which program `pulumi` runs, and in which folder the stack files lie.

In a checkout both are its root. Installed, stack files lie in the current folder; where that has no Pulumi.yaml of its own, the
program that comes with the package runs, in the current folder too.
"""

import os
import sys
from pathlib import Path
from typing import NamedTuple

from azure_gpu.shared.installation import CHECKOUT

FILE = "Pulumi.yaml"
_HERE = Path(__file__).resolve().parent
_PACKAGED_PROGRAM = _HERE / "program"  # as components/build_hook.py puts it into the wheel
EXAMPLES = CHECKOUT / "examples" if CHECKOUT else _HERE / "examples"
# Tells the packaged program in which folder to run: the engine starts it where its Pulumi.yaml lies.
FOLDER_VARIABLE = "AZURE_GPU_FOLDER"


class Project(NamedTuple):
    """The folders of a project."""

    program: Path
    """With Pulumi.yaml and what it runs."""
    files: Path
    """With Pulumi.<stack>.yaml; relative paths in these start here."""


def project() -> Project:
    """The project of this process."""
    if CHECKOUT:
        return Project(CHECKOUT, CHECKOUT)
    here = Path.cwd()
    return Project(here if (here / FILE).is_file() else _PACKAGED_PROGRAM, here)


def engine_environment() -> dict[str, str]:
    """The environment of `pulumi`. An installed package is found by the program, as it runs on the Python of this process."""
    if CHECKOUT:
        return dict(os.environ)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    return {**os.environ, "PATH": path, FOLDER_VARIABLE: str(project().files)}
