"""The Azure CLI: the one that was installed here before, a recent one on PATH, or the pinned one, installed now.

In: the environment. Out: the folder to put first on PATH, in which nothing is but `az`, so that it hides no other program.
The pinned one lies in an environment of its own in the cache, exact and with hashes (`azure-cli.lock`). It is filled under a
temporary name, under a lock, and moved into place: two shells at once install it once, a killed one leaves nothing that counts.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from azure_gpu_operations.shell.locks import alone
from azure_gpu_operations.shell.messages import Say, ShellError

VERSION = "2.91.0"
LOCK = Path(__file__).with_name("azure-cli.lock")
_TEMPORARY = ".installing-"
# The environment can be moved: `az` finds Python by its own place. -I: nothing of the user's Python reaches it.
_AZ = """#!/bin/sh
AZ_INSTALLER="${AZ_INSTALLER:-PIP}" exec "$(dirname "$(readlink -f "$0")")/../bin/python" -I -m azure.cli "$@"
"""


def folder_of_az(environment: Mapping[str, str], say: Say) -> Path | None:
    """The folder that holds `az`; None where the one on PATH will do. Installs it where there is none."""
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
    """Whether a version is the pinned one or later. What isn't a version isn't."""
    return _numbers(version) >= _numbers(VERSION)


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()


def _version(az: str, environment: Mapping[str, str]) -> str:
    """What an `az` says it is, asked with an empty configuration: it would write into the user's own. "" where it fails."""
    with tempfile.TemporaryDirectory() as empty:
        asking = {**environment, "AZURE_CONFIG_DIR": empty, "AZURE_CORE_COLLECT_TELEMETRY": "no"}
        done = subprocess.run([az, "version", "--output", "json"], env=asking, capture_output=True, text=True, check=False)
    try:
        return str(json.loads(done.stdout)["azure-cli"])
    except (ValueError, KeyError, TypeError):
        return ""


def _is_whole(folder: Path) -> bool:
    return (folder / "az" / "az").exists()  # written last


def _install(final: Path, environment: Mapping[str, str], say: Say) -> None:
    final.parent.mkdir(parents=True, exist_ok=True)
    with alone(final.with_name(f"{final.name}.lock"), "waiting for another process that installs the Azure CLI", say):
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
        import uv  # here: a shell with the Azure CLI at hand needs no installer
    except ImportError:
        raise ShellError(
            f"there is no Azure CLI {VERSION} or later on PATH, and no `uv` to install it with; in the checkout's environment "
            "(`make .venv/ready`) there is one"
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
