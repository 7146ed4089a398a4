"""Environment of a shell with the Azure CLI: a separate configuration, no telemetry or installations, `az` and kubectl on PATH.

The output format isn't changed, so that output looks as in documents.
"""

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from azure_gpu_operations.connection import Connection

Say = Callable[[str], None]


class ShellError(Exception):
    """No shell can be opened. The text is for the user."""


# The clouds that the Azure CLI knows by itself, by the host of their Resource Manager (azure-cli 2.91, azure.cli.core.cloud).
_KNOWN = {
    "": "AzureCloud",
    "management.azure.com": "AzureCloud",
    "management.usgovcloudapi.net": "AzureUSGovernment",
    "management.chinacloudapi.cn": "AzureChinaCloud",
}
CUSTOM_CLOUD = "AzureOfThisStack"


class Cloud(NamedTuple):
    """A cloud of the Azure CLI. `endpoint`: its Resource Manager; empty for clouds that the CLI knows."""

    name: str
    endpoint: str = ""


def cloud_of(found: Connection) -> Cloud:
    """The metadata host may be a URL, as it may for the provider."""
    host = found.metadata_host.removeprefix("https://").rstrip("/")
    return Cloud(_KNOWN[host]) if host in _KNOWN else Cloud(CUSTOM_CLOUD, f"https://{host}")


def configuration_folder(state: Path, found: Connection) -> Path:
    """One folder per cloud, tenant and service principal, so that stacks don't sign each other out."""
    cloud = cloud_of(found)
    who = "\n".join((cloud.name, cloud.endpoint, found.tenant_id, found.client_id))
    return state / "azure-cli" / f"{cloud.name}-{hashlib.sha256(who.encode()).hexdigest()[:12]}"


def variables(
    now: Mapping[str, str],
    folder: Path,
    az: Path | None,
    found: Connection,
    clients: Path | None = None,
    kubeconfig: Path | None = None,
) -> dict[str, str]:
    """`az`: its folder, if it isn't on PATH. `clients`: likewise of kubectl and kubelogin, put last on PATH because it contains
    other programs too. Unless KUBECONFIG is set, kubectl reads `kubeconfig` and the file that `az aks get-credentials` writes
    beside the configuration."""
    kubeconfigs = [str(folder / "kubeconfig"), *([str(kubeconfig)] if kubeconfig else [])]
    path = now.get("PATH", os.defpath)
    path = os.pathsep.join((path, str(clients))) if clients else path
    return {
        # Would override the login by the Azure CLI, which the contexts of this shell use.
        **{name: value for name, value in now.items() if name != "AAD_LOGIN_METHOD"},
        "AZURE_CONFIG_DIR": str(folder),
        "KUBECONFIG": now.get("KUBECONFIG") or os.pathsep.join(kubeconfigs),
        "AZURE_EXTENSION_DIR": str(folder / "cliextensions"),
        "AZURE_CORE_COLLECT_TELEMETRY": "no",
        "AZURE_CORE_SURVEY_MESSAGE": "no",
        "AZURE_EXTENSION_USE_DYNAMIC_INSTALL": "no",
        # Otherwise the CLI validates the authority at login.microsoftonline.com, which doesn't know it.
        **({"AZURE_CORE_INSTANCE_DISCOVERY": "false"} if found.disable_instance_discovery else {}),
        "PATH": os.pathsep.join((str(az), path)) if az else path,
    }
