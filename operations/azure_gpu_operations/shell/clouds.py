"""The Azure CLI's name of a stack's cloud."""

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
    """A cloud of the Azure CLI. `endpoint`: its Resource Manager; empty for clouds that the CLI knows."""

    name: str
    endpoint: str = ""


def cloud_of(found: Connection) -> Cloud:
    """The metadata host may be a URL, as it may for the provider."""
    host = found.metadata_host.removeprefix("https://").rstrip("/")
    return Cloud(_KNOWN[host]) if host in _KNOWN else Cloud(CUSTOM_CLOUD, f"https://{host}")
