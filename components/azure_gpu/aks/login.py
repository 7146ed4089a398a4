"""Chooses the login in a cluster's kubeconfig: the one in the cluster's settings, else that of the provider's configuration.

Environment variables may select the cloud, but never the login, since the plan would then depend on the person who runs it.
"""

import os
from collections.abc import Mapping

from pulumi.runtime.config import CONFIG, get_config_env

from azure_gpu.aks.args import AccessArgs
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
