"""Connects to a cluster: to AKS through ARM with this login, to an edge by its kubeconfig. ClusterError if that isn't possible.

ARM returns the address and CA of the API server (listClusterUserCredential). This login authenticates with a token for AKS's
server application: without kubelogin, device codes or changes to a kubeconfig. A cluster without Entra has only local accounts,
whose certificate is part of that response. Imported only when needed, as `api` is.
"""

import base64
import binascii
import logging
import time
from pathlib import Path
from typing import Any

from azure.core.credentials import TokenCredential
from azure.core.exceptions import AzureError as AzureCoreError
from kubernetes import client as kubernetes_client, config as kubernetes_config
from kubernetes.config.config_exception import ConfigException

from azure_gpu.catalog.services.aks.clusters import SERVER_APP
from azure_gpu.shared.polling import first_line
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.clusters import kubeconfig
from azure_gpu_operations.clusters.api import ClusterApi
from azure_gpu_operations.clusters.arm_facts import API_VERSION, ClusterFacts, cluster_of
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.kubeconfig import Kubeconfig, KubeconfigError
from azure_gpu_operations.from_inside import of_cluster as way_in

# The first-party application whose tokens every AKS cluster with Entra takes (Azure/kubelogin, README: --server-id).
SERVER_SCOPE = f"{SERVER_APP}/.default"
_EARLY_SECONDS = 300  # before its expiry, a token is renewed
_TOKEN = "BearerToken"  # noqa: S105 - the client's name for the key of a token


def of_cluster(arm: Arm, cluster_id: str) -> ClusterApi:
    """ClusterError if it is gone or stopped, AzureError if ARM refuses."""
    return _api(arm, _facts(arm, cluster_id))


def user_kubeconfig(arm: Arm, cluster_id: str) -> Kubeconfig:
    """The kubeconfig that ARM returns to users of the cluster. Errors as in `of_cluster`."""
    return _credential(arm, _facts(arm, cluster_id).id, "listClusterUserCredential")


def _facts(arm: Arm, cluster_id: str) -> ClusterFacts:
    body = arm.get(cluster_id, API_VERSION)
    name = cluster_id.rsplit("/", 1)[-1]
    if body is None:
        raise ClusterError(f"the cluster {name} doesn't exist; it was deleted outside the stack", 404)
    facts = cluster_of(body)
    if facts.is_stopped:
        raise ClusterError(f"the cluster {name} is stopped; {start_command(cluster_id)}", 409)
    return facts


def start_command(cluster_id: str) -> str:
    return f"az aks start --ids {cluster_id}"


def of_file(file: Path, context: str = "") -> tuple[ClusterApi, Kubeconfig]:
    """Starts the sign-in programs that the kubeconfig names. ClusterError if it can't be used."""
    try:
        text = file.expanduser().read_text(encoding="utf-8")
        found = kubeconfig.read(text, context)
    except FileNotFoundError:
        raise ClusterError(f"kubeconfig {file} not found", 404) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ClusterError(f"the kubeconfig {file} can't be read: {error}", 404) from error
    except KubeconfigError as error:
        raise ClusterError(f"the kubeconfig {file} is invalid: {error}", 400) from error
    configuration = _configuration()
    of_file = {"config_file": str(file.expanduser()), "context": found.context}
    _load(kubernetes_config.load_kube_config, configuration, f"the kubeconfig {file}", **of_file)
    return ClusterApi(kubernetes_client.ApiClient(configuration), found.server), found


def _api(arm: Arm, facts: ClusterFacts) -> ClusterApi:
    found = _credential(arm, facts.id, "listClusterUserCredential")
    if not facts.has_entra and not found.has_credentials and facts.local_accounts:
        found = _credential(arm, facts.id, "listClusterAdminCredential")
    configuration = _configuration()
    content = kubeconfig.single_context(found, user={} if facts.has_entra else None)
    _load(kubernetes_config.load_kube_config_from_dict, configuration, "the cluster's kubeconfig", config_dict=content)
    if facts.has_entra:
        tokens = _Tokens(arm.login.credential)
        tokens.renew(configuration)
        configuration.refresh_api_key_hook = tokens.renew
    return ClusterApi(kubernetes_client.ApiClient(configuration), found.server, way_in(facts))


def _credential(arm: Arm, cluster_id: str, action: str) -> Kubeconfig:
    answer = arm.post(f"{cluster_id}/{action}", API_VERSION)
    try:
        text = base64.b64decode(answer["kubeconfigs"][0]["value"]).decode("utf-8")
        return kubeconfig.read(text)
    except (KeyError, IndexError, TypeError, binascii.Error, UnicodeDecodeError, KubeconfigError) as error:
        raise AzureError(f"{action} of {cluster_id.rsplit('/', 1)[-1]} returned no valid kubeconfig") from error


class _Tokens:
    """Caches the token: a login by the Azure CLI starts a program for each."""

    def __init__(self, credential: TokenCredential) -> None:
        self._credential = credential
        self._until = 0.0

    def renew(self, configuration: Any) -> None:
        if time.time() < self._until - _EARLY_SECONDS:
            return
        try:
            token = self._credential.get_token(SERVER_SCOPE)
        except AzureCoreError as error:
            raise ClusterError(f"this login gets no token for AKS clusters: {first_line(error)}", 401) from error
        configuration.api_key[_TOKEN] = f"Bearer {token.token}"
        self._until = token.expires_on


def _configuration() -> Any:
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # an unreachable cluster is reported once, not per retry
    found: Any = kubernetes_client.Configuration()
    found.retries = 2
    return found


def _load(load: Any, configuration: Any, what: str, **given: Any) -> None:
    """`load`: the client's function, which takes what is `given`."""
    try:
        load(client_configuration=configuration, persist_config=False, **given)
    except (ConfigException, OSError, ValueError) as error:
        raise ClusterError(f"{what} can't be used: {first_line(error)}", 400) from error
