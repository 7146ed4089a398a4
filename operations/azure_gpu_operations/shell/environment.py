"""What a shell of the Azure CLI finds: a configuration of its own, nothing sent or installed unasked, `az` and kubectl on PATH.

In: the user's environment, the folder of the configuration, the connection. Out: the shell's environment. How commands print is
left as it is: a document's outputs come out as the document shows them.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from azure_gpu_operations.connection import Connection
from azure_gpu_operations.shell.clouds import cloud_of


def configuration_folder(state: Path, found: Connection) -> Path:
    """One for each cloud, tenant and service principal, so that two stacks never sign each other out."""
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
    """`az`: the folder that holds it, where it isn't on PATH already. `clients`: likewise kubectl and kubelogin; those come last,
    as their folder holds other programs too. Where KUBECONFIG doesn't say otherwise, kubectl reads what `az aks get-credentials`
    writes beside the configuration, and `kubeconfig`."""
    kubeconfigs = [str(folder / "kubeconfig"), *([str(kubeconfig)] if kubeconfig else [])]
    path = now.get("PATH", os.defpath)
    path = os.pathsep.join((path, str(clients))) if clients else path
    return {
        # How kubelogin logs in elsewhere: it would come before the Azure CLI, which the contexts of this shell name.
        **{name: value for name, value in now.items() if name != "AAD_LOGIN_METHOD"},
        "AZURE_CONFIG_DIR": str(folder),
        "KUBECONFIG": now.get("KUBECONFIG") or os.pathsep.join(kubeconfigs),
        "AZURE_EXTENSION_DIR": str(folder / "cliextensions"),
        "AZURE_CORE_COLLECT_TELEMETRY": "no",
        "AZURE_CORE_SURVEY_MESSAGE": "no",
        "AZURE_EXTENSION_USE_DYNAMIC_INSTALL": "no",
        # Else the CLI asks login.microsoftonline.com about an authority that it doesn't know, and refuses it.
        **({"AZURE_CORE_INSTANCE_DISCOVERY": "false"} if found.disable_instance_discovery else {}),
        "PATH": os.pathsep.join((str(az), path)) if az else path,
    }
