"""Finds the Azure CLI in the cache or on PATH (if recent), or installs the pinned version.

The folder to put first on PATH contains only `az`, so that it hides no other program. The pinned version is installed into a
separate environment in the cache, with hashes (`azure-cli.lock`), under a temporary name and a lock, and moved into place:
parallel shells install it once, and a killed installation leaves nothing that is used.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from azure_gpu_operations.shell.environment import Say, ShellError


@contextmanager
def exclusive_lock(path: Path, waiting: str, say: Say) -> Iterator[None]:
    """Holds the lock file `path`; shows `waiting` if another process holds it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(waiting)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


VERSION = "2.91.0"
LOCK = Path(__file__).with_name("azure-cli.lock")
_TEMPORARY = ".installing-"
# The environment can be moved: `az` finds Python by its own place. -I: nothing of the user's Python reaches it.
_AZ = """#!/bin/sh
AZ_INSTALLER="${AZ_INSTALLER:-PIP}" exec "$(dirname "$(readlink -f "$0")")/../bin/python" -I -m azure.cli "$@"
"""


def folder_of_az(environment: Mapping[str, str], say: Say) -> Path | None:
    """The folder of `az`, installed if needed; None if the one on PATH is recent enough."""
    installed = cache_folder(environment) / f"azure-cli-{VERSION}"
    if not _is_whole(installed):
        found = shutil.which("az", path=environment.get("PATH"))
        if found is not None and is_recent(_version(found, environment)):
            return None
        _install(installed, environment, say)
    return installed / "az"


def cache_folder(environment: Mapping[str, str]) -> Path:
    """`${XDG_CACHE_HOME:-~/.cache}/azure-gpu`; a relative XDG_CACHE_HOME doesn't count, as the XDG specification says."""
    configured = Path(environment.get("XDG_CACHE_HOME", ""))
    return (configured if configured.is_absolute() else Path.home() / ".cache") / "azure-gpu"


def is_recent(version: str) -> bool:
    """Whether a version is the pinned one or later; False for other text."""
    return _numbers(version) >= _numbers(VERSION)


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()


def _version(az: str, environment: Mapping[str, str]) -> str:
    """Version of an `az`, called with an empty configuration, since it would write to the user's. "" if it fails."""
    with tempfile.TemporaryDirectory() as empty:
        isolated = {**environment, "AZURE_CONFIG_DIR": empty, "AZURE_CORE_COLLECT_TELEMETRY": "no"}
        done = subprocess.run([az, "version", "--output", "json"], env=isolated, capture_output=True, text=True, check=False)
    try:
        return str(json.loads(done.stdout)["azure-cli"])
    except (ValueError, KeyError, TypeError):
        return ""


def _is_whole(folder: Path) -> bool:
    return (folder / "az" / "az").exists()  # written last


def _install(final: Path, environment: Mapping[str, str], say: Say) -> None:
    final.parent.mkdir(parents=True, exist_ok=True)
    with exclusive_lock(final.with_name(f"{final.name}.lock"), "waiting for another process that installs the Azure CLI", say):
        if _is_whole(final):
            return  # another shell installed it while this one waited
        for leftover in final.parent.glob(f"{final.name}{_TEMPORARY}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        workspace = Path(tempfile.mkdtemp(prefix=f"{final.name}{_TEMPORARY}", dir=final.parent))
        try:
            say(f"installing the Azure CLI {VERSION} into {final} (about 370 MB, once)")
            _fill(workspace / "result", environment)
            if final.exists():
                final.rename(workspace / "broken")
            (workspace / "result").rename(final)
        finally:
            shutil.rmtree(workspace, ignore_errors=True)


def _fill(folder: Path, environment: Mapping[str, str]) -> None:
    """A Python environment with the locked packages, and `az`."""
    try:
        import uv  # here: needed only for the installation
    except ImportError:
        raise ShellError(
            f"no Azure CLI {VERSION} or later on PATH, and no `uv` to install it with; the checkout's environment "
            "(`make .venv/ready`) has one"
        ) from None
    packages = ["pip", "sync", "--require-hashes", "--python", str(folder / "bin" / "python"), str(LOCK)]
    for arguments in (["venv", "--no-project", "--relocatable", "--python", sys.executable, str(folder)], packages):
        done = subprocess.run([uv.find_uv_bin(), "-q", *arguments], env=dict(environment), stdout=sys.stderr, check=False)
        if done.returncode != 0:
            raise ShellError(f"the Azure CLI could not be installed: `uv {arguments[0]}` ended with exit code {done.returncode}")
    az = folder / "az" / "az"
    az.parent.mkdir()
    az.write_text(_AZ, encoding="utf-8")
    az.chmod(0o755)
