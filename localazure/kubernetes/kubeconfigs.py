"""Kubeconfigs: those that AKS hands out, by its names, and those of our own parts.

The form of a cluster with Entra is the one that `listClusterUserCredential` answers with `format=exec`: kubelogin, which asks a
person for a code. Sources: Azure/kubelogin, docs/book/src/concepts/aks.md; Azure/azure-cli, aks/custom.py; 2026-11.
"""

import base64
from pathlib import Path
from typing import Any

from azure_gpu.formats import bounded_yaml
from localazure.kubernetes.documents import document
from localazure.kubernetes.model import ClusterShape
from localazure.kubernetes.pki import Pair

_ACCOUNTS = {"admin": "clusterAdmin", "user": "clusterUser", "monitoring": "clusterMonitoringUser"}


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
    if shape.entra and who == "user":
        user = _by_entra(shape.tenant_id, "azure" if form == "azure" else "exec")
    else:
        user = {"client-certificate-data": _data(admin.certificate), "client-key-data": _data(admin.key)}
    return bounded_yaml.dump(config(shape.name, cluster, user, account))


def _by_entra(tenant: str, form: str) -> dict[str, Any]:
    user = document("objects")["users"][form]
    if form == "azure":
        user["auth-provider"]["config"]["tenant-id"] = tenant
    else:
        user["exec"]["args"] = [word.format(tenant=tenant) for word in user["exec"]["args"]]
    return user


def _data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode("ascii")
