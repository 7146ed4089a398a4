"""Makes a configuration of the Azure CLI: the cloud is registered and chosen, and the service principal signed in.

In: the shell's environment, the connection, the client secret. Out: whether somebody is signed in. What was done before isn't
done again, which a file of its digest says; another secret is signed in anew. Azure's CLI keeps the secret in a file of its own
in that folder, readable by its owner alone; it never stands in a command line.
"""

import configparser
import hashlib
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from azure_gpu_operations.connection import Connection
from azure_gpu_operations.shell.clouds import cloud_of
from azure_gpu_operations.shell.locks import alone
from azure_gpu_operations.shell.messages import Say, ShellError

_DONE = "azure-gpu-signed-in"
_CLOUD_CHOSEN = "cloud chosen"


def sign_in(environment: Mapping[str, str], found: Connection, secret: str, say: Say) -> bool:
    """False: nobody is signed in, and that is left to `az login`. ShellError where a step fails."""
    folder = Path(environment["AZURE_CONFIG_DIR"])
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    marker = folder / _DONE
    with alone(folder / f"{_DONE}.lock", "waiting for another shell that signs in", say):
        done = marker.read_text(encoding="ascii") if marker.exists() else ""
        if not done:
            _choose_cloud(environment, found, folder)
            marker.write_text(_CLOUD_CHOSEN, encoding="ascii")
        wanted = _digest(found, secret)
        if found.tenant_id and found.client_id and secret and done != wanted:
            say("signing in")
            _log_in(environment, found, secret)
            marker.write_text(wanted, encoding="ascii")
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
    # `@-`: read from standard input, which other users of the machine can't see; arguments they can. In one word, because the CLI
    # puts the secret there before it reads its options, and one that begins with a dash would be another option.
    _az(environment, "login", *who, "--password=@-", "--allow-no-subscriptions", given=secret)
    if found.subscription_id:
        _az(environment, "account", "set", "--subscription", found.subscription_id)


def _az(environment: Mapping[str, str], *arguments: str, given: str = "") -> None:
    command = ["az", *arguments, "--only-show-errors", "--output", "none"]
    done = subprocess.run(command, env=dict(environment), input=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise ShellError(f"`az {' '.join(arguments[:2])}` failed: {said.removeprefix('ERROR: ')}")


def _has_account(folder: Path) -> bool:
    """The CLI's own file, which begins with a byte order mark."""
    try:
        return bool(json.loads((folder / "azureProfile.json").read_text(encoding="utf-8-sig"))["subscriptions"])
    except (OSError, ValueError, KeyError):
        return False
