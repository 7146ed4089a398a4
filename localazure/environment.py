"""The connection environment of a state folder, `.local/env`: what a shell needs so that `pulumi` and the SDKs reach this server.

Lines of a POSIX shell, quoted for it. The file holds secrets and is readable only by its owner. The ARM_* variables are those
that the provider azure-native reads where a stack's configuration is silent, so that what has no stack finds this server too.
AZURE_AUTHORITY_HOST is where kubelogin, which kubectl runs, and Azure's own identity libraries sign in.
"""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from localazure.entra.identity import Identity
from localazure.folder import SECRET_MODE, LocalFolder, write_whole
from localazure.kubernetes import programs
from localazure.nothing_runs import choice
from localazure.subscriptions import SUBSCRIPTION

LOOPBACK = ("localhost", "127.0.0.1")


def write(folder: LocalFolder, identity: Identity, url: str, engine_bin: Path | None) -> None:
    """Writes the file. `url`: where the server answers. `engine_bin`: the folder of a `pulumi` that is not on PATH."""
    found = variables(folder, identity, url, os.environ)
    lines = [f"export {name}={shlex.quote(value)}" for name, value in found.items()]
    still = folder.still_programs if choice.kept(folder) else None
    first = [str(Path(sys.executable).parent), *(str(each) for each in (still, engine_bin, programs.told(folder)) if each)]
    lines.append(f'export PATH={":".join(shlex.quote(part) for part in first)}:"$PATH"')
    write_whole(folder.environment, "\n".join(lines) + "\n", SECRET_MODE)


def variables(folder: LocalFolder, identity: Identity, url: str, now: Mapping[str, str]) -> dict[str, str]:
    """All variables but PATH. `now` is the environment that the user's own proxy exceptions are taken from."""
    proxied = now.get("NO_PROXY") or now.get("no_proxy") or ""
    exceptions = [each for each in proxied.split(",") if each.strip() and each.strip() not in LOOPBACK]
    return {
        "PULUMI_HOME": str(folder.pulumi_home),
        # Without checksum files: an engine that is killed in writing one leaves a state that no command reads any more.
        "PULUMI_BACKEND_URL": f"file://{folder.backend}?metadata=skip",
        "PULUMI_CONFIG_PASSPHRASE": identity.passphrase,
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "ARM_METADATA_HOSTNAME": url.removeprefix("https://"),
        "ARM_DISABLE_INSTANCE_DISCOVERY": "true",
        "ARM_SUBSCRIPTION_ID": SUBSCRIPTION,
        "ARM_TENANT_ID": identity.tenant_id,
        "ARM_CLIENT_ID": identity.client_id,
        "ARM_CLIENT_SECRET": identity.client_secret,
        "AZURE_AUTHORITY_HOST": f"{url}/",  # kubelogin wants the slash
        "AAD_LOGIN_METHOD": "spn",  # kubelogin, as the provider: else it does what the kubeconfig says
        "SSL_CERT_FILE": str(folder.ca_bundle),
        "REQUESTS_CA_BUNDLE": str(folder.ca_bundle),
        programs.GROUPS_TOLD: str(folder.groups_bin),
        "NO_PROXY": ",".join([*exceptions, *LOOPBACK]),
        **choice.variables(folder),
    }
