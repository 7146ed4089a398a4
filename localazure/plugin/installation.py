"""Puts the provider plugins where Pulumi's engine finds them: each as an executable in a plugin folder of one PULUMI_HOME.

The layout is that of `pulumi plugin install resource NAME VERSION`. Pulumi's own plugin is linked where this machine has it in
the version that the installed SDK names; elsewhere a script starts the stand-in of this project.
"""

import os
import shlex
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from localazure.folder import LocalFolder

TOOLS = "AZURE_GPU_TOOLS"  # `build`: nothing but what this project makes
_BUILD = "build"
NAME = "azure-native"
STAND_INS = {NAME: "localazure.plugin", "kubernetes": "localazure.kubernetes_plugin"}  # by the plugin's name: its module
_PROGRAMS = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")  # how Linux's and macOS' programs begin


class Installed(NamedTuple):
    """A provider plugin in its folder."""

    name: str
    version: str
    folder: Path
    real: bool  # Pulumi's own, not this project's stand-in

    @property
    def executable(self) -> Path:
        return self.folder / f"pulumi-resource-{self.name}"

    def __str__(self) -> str:
        return f"{self.name} {self.version} ({'official' if self.real else 'stand-in'})"


def plugin(pulumi_home: Path, name: str) -> Installed:
    """The plugin as it is there. The engine looks for exactly the version that the installed SDK names."""
    wanted = version(f"pulumi-{name}")
    found = Installed(name, wanted, pulumi_home / "plugins" / f"resource-{name}-v{wanted}", real=False)
    return found._replace(real=_is_program(found.executable))


def install(
    pulumi_home: Path,
    python: Path,
    checkout: Path,
    name: str = NAME,
    *,
    real: Path | None = None,
    module: str | None = None,
) -> Installed:
    """Puts the plugin into `pulumi_home`: a link to `real`, Pulumi's own, or a script that runs this checkout's stand-in, or
    `module`, by `python`.

    Pulumi's own that lies there as a file was installed there by its user, and stays. Writes nothing where all is as it has to
    be; else beside it and moved into place, so that an engine never finds half of one.
    """
    there = plugin(pulumi_home, name)
    executable = there.executable
    if there.real and not executable.is_symlink():
        return there
    script = None if real else _script(python, checkout, module or STAND_INS[name]).encode()
    if not _is_as_wanted(executable, script, real):
        there.folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=there.folder.parent, prefix=f".{executable.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(script or b"")
        if real:
            Path(temporary).unlink()
            Path(temporary).symlink_to(real)
        else:
            Path(temporary).chmod(0o755)
        Path(temporary).replace(executable)
    return there._replace(real=real is not None)


def real_plugin(state: LocalFolder, name: str, environment: Mapping[str, str], platform: str = sys.platform) -> Path | None:
    """Pulumi's own plugin on this machine: in the PULUMI_HOME of `environment`, in `~/.pulumi`, or downloaded by `make`.

    None where there is none of the version, where `environment` asks for what this project makes, and on macOS for azure-native:
    Go takes no certificates from SSL_CERT_FILE there (documentation of Go's crypto/x509, SystemCertPool), so it would refuse the
    embedded Azure's.
    """
    if environment.get(TOOLS) == _BUILD or (name == NAME and platform == "darwin"):
        return None
    downloaded = state.providers_bin.read_text(encoding="utf-8").splitlines() if state.providers_bin.exists() else []
    user = Path(environment.get("HOME") or Path.home()) / ".pulumi"
    for home in (*(Path(each) for each in (environment.get("PULUMI_HOME"),) if each), user, *map(Path, downloaded)):
        found = plugin(home, name)
        if home.resolve() != state.pulumi_home.resolve() and found.real:
            return found.executable.resolve()
    return None


def how_to_have(name: str) -> str:
    """What a user does who needs more than a stand-in."""
    return (
        f"for it use Pulumi's own plugin: pulumi plugin install resource {name} {version(f'pulumi-{name}')}, in a shell without "
        "this connection, then make up"
    )


def _is_program(path: Path) -> bool:
    """Whether it is a program, as Pulumi's own are; a stand-in is a script."""
    if not (path.is_file() and os.access(path, os.X_OK)):
        return False
    with path.open("rb") as file:
        return file.read(4) in _PROGRAMS


def _is_as_wanted(executable: Path, script: bytes | None, real: Path | None) -> bool:
    if real or executable.is_symlink():
        return real is not None and executable.is_symlink() and executable.readlink() == real
    return executable.is_file() and executable.read_bytes() == script and os.access(executable, os.X_OK)


def _script(python: Path, checkout: Path, module: str) -> str:
    # Absolute and not resolved: a virtual environment's python is a link that must be called by its own path.
    command = shlex.quote(str(python.absolute()))
    path = shlex.quote(str(checkout.resolve()))
    return f'#!/bin/sh\nPYTHONPATH={path} exec {command} -m {module} "$@"\n'
