"""Kubeconfigs: those that AKS hands out, by its names, and those of our own parts.

The form of a cluster with Entra is the one that `listClusterUserCredential` answers with `format=exec`: kubelogin, which asks a
person for a code. Sources: Azure/kubelogin, docs/book/src/concepts/aks.md; Azure/azure-cli, aks/custom.py; 2026-11.
"""

import base64
from pathlib import Path
from typing import Any

from azure_gpu.formats import bounded_yaml
from localazure.kubernetes.model import ENTRA_SERVER_APP, ClusterShape
from localazure.kubernetes.pki import Pair

ENTRA_CLIENT_APP = "80faf920-1908-4b52-b5ef-a8e7bedfc67a"  # with which a person logs in to any AKS cluster
_INSTALL_HINT = "\nkubelogin is not installed which is required to connect to AAD enabled cluster.\n\nTo learn more, please go to https://aka.ms/aks/kubelogin\n"
ADMIN, USER, MONITORING = "admin", "user", "monitoring"
_ACCOUNTS = {ADMIN: "clusterAdmin", USER: "clusterUser", MONITORING: "clusterMonitoringUser"}


def config(name: str, cluster: dict[str, Any], user: dict[str, Any], account: str = "") -> dict[str, Any]:
    """A kubeconfig of one cluster, one user and the context of both."""
    account = account or name
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": account, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": account}}],
        "current-context": name,
        "preferences": {},
    }


def by_files(server: str, authority: Path, pair: Pair) -> dict[str, Any]:
    """For a process of this machine, which reads the files each time."""
    user = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
    return config("kubernetes", {"server": server, "certificate-authority": str(authority)}, user)


def handed_out(shape: ClusterShape, server: str, authority: Path, admin: Pair, who: str, form: str = "") -> str:
    """What AKS answers for `who`, as YAML. `form`: "exec" or "azure", which says how a user of Entra signs in.

    An administrator's context is called as a user's: it is `az aks get-credentials` that puts `-admin` behind its name, see
    Azure/azure-cli issue 19779, and Azure PowerShell, which didn't, put one over the other: Azure/azure-powershell issue 12941.
    """
    cluster = {"certificate-authority-data": _data(authority), "server": server}
    account = f"{_ACCOUNTS[who]}_{shape.resource_group}_{shape.name}"
    entra = shape.entra and who == USER
    user = _by_kubelogin(shape.tenant_id, form) if entra else _by_certificate(admin)
    return bounded_yaml.dump(config(shape.name, cluster, user, account))


def _by_certificate(pair: Pair) -> dict[str, Any]:
    return {"client-certificate-data": _data(pair.certificate), "client-key-data": _data(pair.key)}


def _by_kubelogin(tenant: str, form: str) -> dict[str, Any]:
    if form == "azure":  # what clients before Kubernetes 1.26 took; kubelogin converts it
        given = {"apiserver-id": ENTRA_SERVER_APP, "client-id": ENTRA_CLIENT_APP, "config-mode": "1"}
        return {"auth-provider": {"name": "azure", "config": {**given, "environment": "AzurePublicCloud", "tenant-id": tenant}}}
    requested = {
        "environment": "AzurePublicCloud",
        "server-id": ENTRA_SERVER_APP,
        "client-id": ENTRA_CLIENT_APP,
        "tenant-id": tenant,
    }
    arguments = [part for name, value in {**requested, "login": "devicecode"}.items() for part in (f"--{name}", value)]
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "command": "kubelogin",
            "args": ["get-token", *arguments],
            "env": None,
            "installHint": _INSTALL_HINT,
            "provideClusterInfo": False,
        }
    }


def _data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode("ascii")
