"""How the program logs in to clusters: as the provider itself does, where a cluster's settings don't set it."""

from collections.abc import Mapping

from azure_gpu.aks.args import AccessArgs, GpuClusterSettings, Login
from azure_gpu.stack.keys import PROVIDER, PROVIDER_VARIABLES

_CLIENT, _HOST, _DISCOVERY = (f"{PROVIDER}:{key}" for key in ("clientId", "metadataHost", "disableInstanceDiscovery"))


def login_from(environment: Mapping[str, str]) -> dict[str, str]:
    """How the provider logs in, as far as the environment says it and the login of a cluster follows it."""
    found = {key: environment.get(PROVIDER_VARIABLES[key], "") for key in (_CLIENT, _HOST, _DISCOVERY)}
    return {key: value for key, value in found.items() if value}


def with_login(clusters: Mapping[str, GpuClusterSettings], configuration: Mapping[str, str]) -> dict[str, GpuClusterSettings]:
    """The clusters, logged into as the provider itself logs in, where their settings say nothing else."""
    defaults = AccessArgs()
    if configuration.get(_CLIENT):
        defaults["login"] = Login.SERVICE_PRINCIPAL
    if configuration.get(_DISCOVERY, "").lower() == "true":
        defaults["disable_instance_discovery"] = True
    if configuration.get(_HOST):
        defaults["authority_host"] = f"https://{configuration[_HOST]}/"
    if not defaults:
        return dict(clusters)
    return {name: {**cluster, "access": {**defaults, **cluster.get("access", {})}} for name, cluster in clusters.items()}
