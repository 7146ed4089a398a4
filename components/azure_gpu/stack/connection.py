"""How the program logs in to clusters: as the provider itself does, where a cluster's settings don't set it."""

from collections.abc import Mapping

from azure_gpu.aks.args import AccessArgs, GpuClusterSettings, Login

# The provider takes these from the environment where its configuration says nothing.
_FROM_ENVIRONMENT = {
    "azure-native:clientId": "ARM_CLIENT_ID",
    "azure-native:metadataHost": "ARM_METADATA_HOSTNAME",
    "azure-native:disableInstanceDiscovery": "ARM_DISABLE_INSTANCE_DISCOVERY",
}


def connection(environment: Mapping[str, str]) -> dict[str, str]:
    """How the provider logs in, as far as the environment says it and the login of a cluster follows it."""
    return {key: environment[name] for key, name in _FROM_ENVIRONMENT.items() if environment.get(name)}


def with_login(clusters: Mapping[str, GpuClusterSettings], configuration: Mapping[str, str]) -> dict[str, GpuClusterSettings]:
    """The clusters, logged into as the provider itself logs in, where their settings say nothing else."""
    defaults = AccessArgs()
    if configuration.get("azure-native:clientId"):
        defaults["login"] = Login.SERVICE_PRINCIPAL
    if configuration.get("azure-native:disableInstanceDiscovery", "").lower() == "true":
        defaults["disable_instance_discovery"] = True
    if configuration.get("azure-native:metadataHost"):
        defaults["authority_host"] = f"https://{configuration['azure-native:metadataHost']}/"
    if not defaults:
        return dict(clusters)
    return {name: {**cluster, "access": {**defaults, **cluster.get("access", {})}} for name, cluster in clusters.items()}
