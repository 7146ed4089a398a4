"""Access to an AKS cluster without local accounts."""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.sources import Dated, Source

SOURCE = Source("Azure/AKS issue 4990, pulumi/pulumi-azure-native issue 2399", Dated.OBSERVED, date(2026, 11, 20))

SERVER_APP = "6dae42f8-4368-4678-94ff-3960e28e3630"  # the audience of tokens: AKS in Entra, the same for every cluster
# kubelogin's non-interactive modes; oidc is its workloadidentity with the provider's ids.
LOGINS = ("azurecli", "spn", "msi", "workloadidentity", "oidc")


def check(local_accounts: bool, login: str, path: str) -> Iterator[Problem]:
    """`login`: the mode of kubelogin in the kubeconfig; empty for the kubeconfig that `listClusterUserCredential` answers."""
    if not local_accounts and login not in LOGINS:
        yield Problem(
            path=path,
            message="without local accounts, the cluster's default kubeconfig requires an interactive login",
            value=login or None,
            allowed=", ".join(LOGINS),
            fix="write a kubeconfig that runs kubelogin, in one of these modes",
            source=str(SOURCE),
            code=Code.IMPOSSIBLE,
        )
