"""The login in a cluster's kubeconfig: the one in the cluster's settings, else that of the provider's configuration.

A cluster without local accounts has a kubeconfig that runs kubelogin: non-interactive, without a secret. Environment variables
may select the cloud, but never the login, since the plan would then depend on the person who runs it.
"""

import base64
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pulumi.runtime.config import CONFIG, get_config_env

from azure_gpu.aks.args import AccessArgs, Login
from azure_gpu.catalog.services.aks.clusters import SERVER_APP
from azure_gpu.formats import bounded_yaml
from azure_gpu.shared.provider_keys import DISABLE_DISCOVERY, METADATA_HOST, PROVIDER, cloud_from

_CLIENT, _OIDC = f"{PROVIDER}:clientId", f"{PROVIDER}:useOidc"


def configured() -> dict[str, str]:
    """The engine's configuration and the keys from environment variables, for a cluster in a program."""
    return {**cloud_from(os.environ), **get_config_env(), **CONFIG.get()}


def of_provider(configuration: Mapping[str, str]) -> AccessArgs:
    """The provider's login, for a cluster whose settings don't set one."""
    defaults = AccessArgs()
    if configuration.get(_OIDC, "").lower() == "true":
        defaults["login"] = "oidc"
    elif configuration.get(_CLIENT):
        defaults["login"] = "spn"
    if configuration.get(DISABLE_DISCOVERY, "").lower() == "true":
        defaults["disable_instance_discovery"] = True
    if configuration.get(METADATA_HOST):
        defaults["authority_host"] = f"https://{configuration[METADATA_HOST]}/"
    return defaults


KUBELOGIN_PAGE = "https://azure.github.io/kubelogin/install.html"
_ARGUMENTS = {
    # AAD_LOGIN_METHOD in the environment overrides --login, with ids from the same variables as the provider's.
    "azurecli": ("--login", "azurecli", "--use-azurerm-env-vars"),
    # Secret and ids come from the environment, ARM_CLIENT_ID etc., as for the provider.
    "spn": ("--login", "spn", "--use-azurerm-env-vars"),
    "workloadidentity": ("--login", "workloadidentity"),
    # The same ids, and GitHub's token of the running job or the file that AZURE_FEDERATED_TOKEN_FILE names. Source:
    # Azure/kubelogin 66784961, pkg/internal/token/options.go and githubactionscredential.go (2026-08-14).
    "oidc": ("--login", "workloadidentity", "--use-azurerm-env-vars"),
}


class NoKubeconfigError(ValueError):
    """Azure's response has no kubeconfig."""


def kubeconfig_of(answer: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """The first kubeconfig in the response of listClusterUserCredential, whose values are Base64."""
    try:
        text = base64.b64decode(answer[0]["value"]).decode()
        config = bounded_yaml.load(text)
        config["clusters"][0]["cluster"]["server"]
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise NoKubeconfigError("Azure's response has no kubeconfig for the cluster's users") from error
    return cast(dict[str, Any], config)


def with_kubelogin(
    config: Mapping[str, Any], name: str, login: Login, *, authority_host: str = "", disable_instance_discovery: bool = False
) -> str:
    """A kubeconfig with server and certificate of `config`, and a user who logs in by kubelogin. JSON, which is YAML, in a fixed
    order."""
    cluster = cast(Mapping[str, Any], config["clusters"][0]["cluster"])
    # kubelogin reads the host from the environment only for workload identity (its v0.2.13, pkg/internal/token/options.go). It
    # ignores the host with the Azure CLI; AAD_LOGIN_METHOD=spn in the environment requires it.
    host = ("--authority-host", authority_host) if authority_host and login != "workloadidentity" else ()
    discovery = ("--disable-instance-discovery",) if disable_instance_discovery else ()
    run = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "kubelogin",
        "args": ["get-token", *_ARGUMENTS[login], "--server-id", SERVER_APP, *host, *discovery],
        "env": None,
        "installHint": f"kubelogin isn't on the PATH; {KUBELOGIN_PAGE} says how to install it",
        "interactiveMode": "Never",
        "provideClusterInfo": False,
    }
    kept = {key: cluster[key] for key in ("certificate-authority-data", "server") if key in cluster}
    whole = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": kept}],
        "users": [{"name": name, "user": {"exec": run}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return json.dumps(whole, indent=2)
