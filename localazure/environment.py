"""The connection environment of a state folder, `.local/env`: what a shell needs so that `pulumi` and the SDKs reach this server.

Lines of a POSIX shell, quoted for it. The file holds secrets and is readable by its owner alone.
"""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from localazure.entra.identity import Identity
from localazure.folder import SECRET_MODE, LocalFolder, write_whole

LOOPBACK = ("localhost", "127.0.0.1")


def write(folder: LocalFolder, identity: Identity, engine_bin: Path | None) -> None:
    """Writes the file. `engine_bin`: the folder of a `pulumi` that is not on PATH."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables(folder, identity, os.environ).items()]
    first = [str(Path(sys.executable).parent), *([str(engine_bin)] if engine_bin else [])]
    lines.append(f'export PATH={":".join(shlex.quote(part) for part in first)}:"$PATH"')
    write_whole(folder.environment, "\n".join(lines) + "\n", SECRET_MODE)


def variables(folder: LocalFolder, identity: Identity, now: Mapping[str, str]) -> dict[str, str]:
    """All variables but PATH. `now` is the environment that the user's own proxy exceptions are taken from."""
    proxied = now.get("NO_PROXY") or now.get("no_proxy") or ""
    exceptions = [each for each in proxied.split(",") if each.strip() and each.strip() not in LOOPBACK]
    return {
        "PULUMI_HOME": str(folder.pulumi_home),
        "PULUMI_BACKEND_URL": f"file://{folder.backend}",
        "PULUMI_CONFIG_PASSPHRASE": identity.passphrase,
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "ARM_CLIENT_SECRET": identity.client_secret,
        "SSL_CERT_FILE": str(folder.ca_bundle),
        "REQUESTS_CA_BUNDLE": str(folder.ca_bundle),
        "NO_PROXY": ",".join([*exceptions, *LOOPBACK]),
    }
