"""The Azure CLI of a shell: finds it in the cache or on PATH (if recent), or installs the pinned version; and signs it in.

The folder to put first on PATH contains only `az`, so that it hides no other program. The pinned version is installed into a
separate environment in the cache, with hashes (`azure-cli.lock`), under a temporary name and a lock, and moved into place:
parallel shells install it once, and a killed installation leaves nothing that is used.

Signing in registers and selects the cloud in a configuration of its own. A digest file records what is done, so that it isn't
repeated; a new secret signs in again. The CLI stores the secret in a file of that folder that only its owner can read; it is
never passed on a command line.
"""

import configparser
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from azure_gpu_operations.connection import Connection
from azure_gpu_operations.shell.environment import Say, ShellError, cloud_of


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


_DONE = "azure-gpu-signed-in"
_CLOUD_CHOSEN = "cloud chosen"


def sign_in(environment: Mapping[str, str], found: Connection, secret: str, say: Say) -> bool:
    """Whether the CLI is signed in; if not, `az login` is left to the user. ShellError if a step fails."""
    folder = Path(environment["AZURE_CONFIG_DIR"])
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    marker = folder / _DONE
    with exclusive_lock(folder / f"{_DONE}.lock", "waiting for another shell that signs in", say):
        done = marker.read_text(encoding="ascii") if marker.exists() else ""
        if not done:
            _choose_cloud(environment, found, folder)
            marker.write_text(_CLOUD_CHOSEN, encoding="ascii")
        digest = _digest(found, secret)
        if found.tenant_id and found.client_id and secret and done != digest:
            say("signing in")
            _log_in(environment, found, secret)
            marker.write_text(digest, encoding="ascii")
    return _has_account(folder)


def _digest(found: Connection, secret: str) -> str:
    return hashlib.sha256(json.dumps([repr(found), secret]).encode()).hexdigest()


def _choose_cloud(environment: Mapping[str, str], found: Connection, folder: Path) -> None:
    cloud = cloud_of(found)
    if cloud.endpoint and not _is_known_cloud(cloud.name, folder):
        _az(environment, "cloud", "register", "--name", cloud.name, "--endpoint-resource-manager", cloud.endpoint)
    _az(environment, "cloud", "set", "--name", cloud.name)


def _is_known_cloud(cloud: str, folder: Path) -> bool:
    known = configparser.ConfigParser(interpolation=None)
    known.read(folder / "clouds.config", encoding="utf-8")
    return known.has_option(cloud, "endpoint_resource_manager")


def _log_in(environment: Mapping[str, str], found: Connection, secret: str) -> None:
    who = ["--service-principal", "--username", found.client_id, "--tenant", found.tenant_id]
    # `@-`: read from standard input, because other users can see arguments. In one word, because the CLI
    # puts the secret there before it reads its options, and one that begins with a dash would be another option.
    _az(environment, "login", *who, "--password=@-", "--allow-no-subscriptions", given=secret)
    if found.subscription_id:
        _az(environment, "account", "set", "--subscription", found.subscription_id)


def _az(environment: Mapping[str, str], *arguments: str, given: str = "") -> None:
    command = ["az", *arguments, "--only-show-errors", "--output", "none"]
    done = subprocess.run(command, env=dict(environment), input=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        message = done.stderr.strip() or f"exit code {done.returncode}"
        raise ShellError(f"`az {' '.join(arguments[:2])}` failed: {message.removeprefix('ERROR: ')}")


def _has_account(folder: Path) -> bool:
    """Reads the CLI's profile, which begins with a byte order mark."""
    try:
        return bool(json.loads((folder / "azureProfile.json").read_text(encoding="utf-8-sig"))["subscriptions"])
    except (OSError, ValueError, KeyError):
        return False
