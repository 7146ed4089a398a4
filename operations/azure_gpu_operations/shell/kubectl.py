"""kubectl in a shell: its folder, and a kubeconfig with a context for each cluster of the stack.

kubectl uses the identity of `az`: kubelogin gets tokens from it, so the file contains no secret.
"""

import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from azure_gpu.catalog.services.aks.clusters import SERVER_APP
from azure_gpu_operations.clusters.kubeconfig import Kubeconfig
from azure_gpu_operations.shell.cli import cache_folder
from azure_gpu_operations.stack import Stack

VERSION = "1.36.2"  # as engine/build.py builds it

Say = Callable[[str], None]


def folder_of_kubectl(environment: Mapping[str, str]) -> Path | None:
    if shutil.which("kubectl", path=environment.get("PATH")) and shutil.which("kubelogin", path=environment.get("PATH")):
        return None
    built = cache_folder(environment) / f"kubernetes-{VERSION}"
    return built if (built / "kubectl").exists() else None


def write_kubeconfig(stack: Stack, folder: Path, say: Say) -> Path | None:
    """Writes the kubeconfig; None if the stack has no reachable cluster, in which case the shell opens without it."""
    from azure_gpu.shared.polling import first_line
    from azure_gpu_operations.azure import UNREADABLE, Arm  # here: needed only for stacks with clusters
    from azure_gpu_operations.clusters import connect
    from azure_gpu_operations.clusters.errors import ClusterError
    from azure_gpu_operations.stack import EngineError
    from azure_gpu_operations.stack_view import view

    found: dict[str, Kubeconfig] = {}
    try:
        seen = view(stack)
        with closing(Arm(seen.connection)) as arm:
            for name, cluster_id in seen.clusters.items():
                try:
                    found[name] = connect.user_kubeconfig(arm, cluster_id)
                except ClusterError as error:
                    say(str(error))
    except (EngineError, *UNREADABLE, ClusterError) as error:
        say(f"kubectl can't reach the stack's clusters: {first_line(error)}")
        return None
    if not found:
        return None
    file = folder / f"kubeconfig-{stack.name}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_text(json.dumps(kubeconfig(found, seen.namespaces), indent=2), encoding="utf-8")  # JSON is YAML too
    file.chmod(0o600)
    return file


def kubeconfig(clusters: Mapping[str, Kubeconfig], namespaces: Mapping[str, str]) -> dict[str, Any]:
    """The first cluster is the current one. A cluster with only local accounts keeps the certificate from ARM."""
    login = ["get-token", "--server-id", SERVER_APP, "--login", "azurecli"]
    by_login = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "kubelogin",
        "args": login,
        "interactiveMode": "Never",
    }
    contexts = {name: {"cluster": name, "user": name, "namespace": namespaces.get(name) or "default"} for name in clusters}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": dict(found.cluster)} for name, found in clusters.items()],
        "users": [
            {"name": name, "user": dict(found.user) if found.has_credentials else {"exec": by_login}}
            for name, found in clusters.items()
        ],
        "contexts": [{"name": name, "context": context} for name, context in contexts.items()],
        "current-context": next(iter(contexts), ""),
    }
