"""Creates a configuration of the Azure CLI: registers and selects the cloud, and signs the service principal in.

A digest file records what is done, so that it isn't repeated; a new secret signs in again. The CLI stores the secret in a file of
that folder that only its owner can read; it is never passed on a command line.
"""

import configparser
import hashlib
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from azure_gpu_operations.connection import Connection
from azure_gpu_operations.shell.cli import exclusive_lock
from azure_gpu_operations.shell.environment import Say, ShellError, cloud_of

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
    if cloud.endpoint and not _is_registered(cloud.name, folder):
        _az(environment, "cloud", "register", "--name", cloud.name, "--endpoint-resource-manager", cloud.endpoint)
    _az(environment, "cloud", "set", "--name", cloud.name)


def _is_registered(cloud: str, folder: Path) -> bool:
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
