"""The project of the commands: which program `pulumi` runs, and the folder of the stack files.

In a checkout both are its root, except in a folder elsewhere with a Pulumi.yaml, where an editable install was called. Installed,
stack files are in the current folder; if that has no Pulumi.yaml, the packaged program runs, in the current folder too.
"""

import os
import sys
from pathlib import Path
from typing import NamedTuple

from azure_gpu.formats import bounded_yaml
from azure_gpu.formats.stack_file import StackFileError
from azure_gpu.shared.installation import CHECKOUT
from azure_gpu.stack.keys import config_key

FILE = "Pulumi.yaml"
_HERE = Path(__file__).resolve().parent
_PACKAGED_PROGRAM = _HERE / "program"  # as operations/build_hook.py puts it into the wheel
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
    here = Path.cwd()
    if CHECKOUT and not ((here / FILE).is_file() and _is_foreign(here)):
        return Project(CHECKOUT, CHECKOUT)
    return Project(here if (here / FILE).is_file() else _PACKAGED_PROGRAM, here)


def _is_foreign(folder: Path) -> bool:
    """Whether a folder isn't in the checkout: an editable install is called in repositories of others."""
    return CHECKOUT is not None and not folder.resolve().is_relative_to(CHECKOUT)


def name_of(folder: Path) -> str:
    """The name of the project in a folder, which is the namespace of its stack files' keys; the packaged program's, where the
    folder has no Pulumi.yaml. StackFileError where the file has none."""
    own = folder / FILE
    file = own if own.is_file() else project().program / FILE
    try:
        content = bounded_yaml.load(file.read_text(encoding="utf-8"))
    except (bounded_yaml.BoundedYamlError, UnicodeDecodeError) as error:
        raise StackFileError(f"{file}: {error}") from None
    if not isinstance(content, dict) or not content.get("name"):
        raise StackFileError(f"{file}: the project has no `name`")
    return str(content["name"])


def key_of(section: str) -> str:
    """How a stack file of this process's project spells a key, such as `azure-gpu:pools`."""
    return config_key(section, name_of(project().files))


def is_shipped(program: Path) -> bool:
    """Whether a folder holds the program of this repository, or of the package."""
    return program in (CHECKOUT, _PACKAGED_PROGRAM)


def engine_environment() -> dict[str, str]:
    """The environment of `pulumi`. An installed package is found by the program, as it runs on the Python of this process."""
    if CHECKOUT and project().program == CHECKOUT:
        return dict(os.environ)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    return {**os.environ, "PATH": path, FOLDER_VARIABLE: str(project().files)}
