"""Chooses the login in a cluster's kubeconfig: the one in the cluster's settings, else that of the provider's configuration.

Environment variables may select the cloud, but never the login, since the plan would then depend on the person who runs it.
"""

import os
from collections.abc import Mapping

from pulumi.runtime.config import CONFIG, get_config_env

from azure_gpu.aks.args import AccessArgs, GpuClusterSettings, Login
from azure_gpu.shared.provider_keys import PROVIDER, PROVIDER_VARIABLES

_CLIENT, _OIDC, _HOST, _DISCOVERY = (
    f"{PROVIDER}:{key}" for key in ("clientId", "useOidc", "metadataHost", "disableInstanceDiscovery")
)


def login_from(environment: Mapping[str, str]) -> dict[str, str]:
    """The provider's keys that select the cloud, from environment variables."""
    found = {key: environment.get(PROVIDER_VARIABLES[key], "") for key in (_HOST, _DISCOVERY)}
    return {key: value for key, value in found.items() if value}


def configured() -> dict[str, str]:
    """The engine's configuration and the keys from environment variables, for a cluster in a program."""
    return {**login_from(os.environ), **get_config_env(), **CONFIG.get()}


def with_login(cluster: GpuClusterSettings, configuration: Mapping[str, str]) -> GpuClusterSettings:
    """Adds the provider's login to the cluster's settings where these don't set one."""
    defaults = AccessArgs()
    if configuration.get(_OIDC, "").lower() == "true":
        defaults["login"] = Login.OIDC
    elif configuration.get(_CLIENT):
        defaults["login"] = Login.SERVICE_PRINCIPAL
    if configuration.get(_DISCOVERY, "").lower() == "true":
        defaults["disable_instance_discovery"] = True
    if configuration.get(_HOST):
        defaults["authority_host"] = f"https://{configuration[_HOST]}/"
    return {**cluster, "access": {**defaults, **cluster.get("access", {})}} if defaults else cluster
