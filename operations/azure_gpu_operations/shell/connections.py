"""Where a shell's Azure is: what the stack's configuration says, and where it is silent the environment, as for the provider.

In: a stack's configuration, the environment. Out: a `Connection`, and how the Azure CLI calls its cloud.
"""

from collections.abc import Mapping
from typing import NamedTuple

from azure_gpu_operations.connection import Connection

# The clouds that the Azure CLI knows by itself, by the host of their Resource Manager (azure-cli 2.91, azure.cli.core.cloud).
_KNOWN = {
    "": "AzureCloud",
    "management.azure.com": "AzureCloud",
    "management.usgovcloudapi.net": "AzureUSGovernment",
    "management.chinacloudapi.cn": "AzureChinaCloud",
}
CUSTOM_CLOUD = "AzureOfThisStack"


class Cloud(NamedTuple):
    """A cloud of the Azure CLI. `endpoint` is where its Resource Manager answers; empty where the CLI knows that by itself."""

    name: str
    endpoint: str = ""


def connection(configuration: Mapping[str, str], environment: Mapping[str, str]) -> Connection:
    """Key by key, the configuration goes before the environment."""

    def value(key: str, variable: str) -> str:
        return configuration.get(f"azure-native:{key}") or environment.get(variable, "")

    return Connection(
        subscription_id=value("subscriptionId", "ARM_SUBSCRIPTION_ID"),
        tenant_id=value("tenantId", "ARM_TENANT_ID"),
        client_id=value("clientId", "ARM_CLIENT_ID"),
        metadata_host=value("metadataHost", "ARM_METADATA_HOSTNAME"),
        disable_instance_discovery=value("disableInstanceDiscovery", "ARM_DISABLE_INSTANCE_DISCOVERY").lower() == "true",
    )


def cloud_of(found: Connection) -> Cloud:
    """The metadata host may be a URL, as it may for the provider."""
    host = found.metadata_host.removeprefix("https://").rstrip("/")
    return Cloud(_KNOWN[host]) if host in _KNOWN else Cloud(CUSTOM_CLOUD, f"https://{host}")
