"""Puts a provider plugin where Pulumi's engine finds it: as an executable in a plugin folder of one PULUMI_HOME.

The layout is that of `pulumi plugin install resource NAME VERSION --file FOLDER`.
"""

import os
import shlex
import tempfile
from importlib.metadata import version
from pathlib import Path

NAME = "azure-native"


def install(pulumi_home: Path, python: Path, checkout: Path, name: str = NAME, module: str = "localazure.plugin") -> Path:
    """The plugin's folder in `pulumi_home`, with an executable that runs this checkout's `module` by `python`.

    Does nothing where it is there already. Written beside and moved into place, so that an engine never finds half of one.
    """
    # The engine looks for exactly the version that the installed SDK names.
    folder = pulumi_home / "plugins" / f"resource-{name}-v{version(f'pulumi-{name}')}"
    executable = folder / f"pulumi-resource-{name}"
    script = _script(python, checkout, module)
    if not (executable.is_file() and executable.read_text(encoding="utf-8") == script and os.access(executable, os.X_OK)):
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder.parent, prefix=f".{executable.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(script)
        Path(temporary).chmod(0o755)
        Path(temporary).replace(executable)
    return folder


def _script(python: Path, checkout: Path, module: str) -> str:
    # Absolute and not resolved: a virtual environment's python is a link that must be called by its own path.
    command = shlex.quote(str(python.absolute()))
    path = shlex.quote(str(checkout.resolve()))
    return f'#!/bin/sh\nPYTHONPATH={path} exec {command} -m {module} "$@"\n'
