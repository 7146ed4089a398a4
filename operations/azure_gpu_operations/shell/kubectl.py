"""kubectl in a shell: the programs, and the way into the stack's clusters.

In: the environment, the stack. Out: the folder to put last on PATH, None where kubectl is there already or was never built; a
kubeconfig with a context for each cluster of the stack, called as its file calls it. Who kubectl asks as is who `az` is signed in
as: kubelogin gets a token from it, so that nothing secret is in that file.
"""

import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from azure_gpu.catalog.services.aks.access import SERVER_APP
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
    """The file; None where the stack has no cluster that can be reached. A shell without it is one all the same."""
    from azure.core.exceptions import AzureError as AzureCoreError  # here: a stack without clusters needs none of them
    from requests.exceptions import RequestException

    from azure_gpu_operations.azure import Arm, AzureError
    from azure_gpu_operations.clusters.errors import ClusterError
    from azure_gpu_operations.stack import EngineError
    from azure_gpu_operations.stack_view import view

    found: dict[str, Kubeconfig] = {}
    try:
        seen = view(stack)
        with closing(Arm(seen.connection)) as arm:
            for name, cluster_id in seen.clusters.items():
                found |= _of_cluster(arm, name, cluster_id, say)
    except (EngineError, AzureError, AzureCoreError, RequestException, ClusterError) as error:
        say(f"kubectl has no way into the stack's clusters: {(str(error).strip().splitlines() or [''])[0]}")
        return None
    if not found:
        return None
    file = folder / f"kubeconfig-{stack.name}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_text(json.dumps(kubeconfig(found, seen.namespaces), indent=2), encoding="utf-8")  # JSON is YAML too
    file.chmod(0o600)
    return file


def kubeconfig(clusters: Mapping[str, Kubeconfig], namespaces: Mapping[str, str]) -> dict[str, Any]:
    """The first cluster is the current one. A cluster with local accounts alone keeps the certificate that ARM hands out."""
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


def _of_cluster(arm: Any, name: str, cluster_id: str, say: Say) -> dict[str, Kubeconfig]:
    from azure_gpu_operations.clusters import reach  # here, as above
    from azure_gpu_operations.clusters.errors import ClusterError

    try:
        return {name: reach.user_kubeconfig(arm, cluster_id)}
    except ClusterError as error:
        say(str(error))
        return {}
