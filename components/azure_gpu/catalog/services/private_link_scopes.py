"""Azure Monitor private link scopes: how a log workspace and Application Insights become private, and whom that affects."""

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.sources import observed

# "It's not possible to delete resources connected to an AMPLS."
CONFIGURE_PAGE = observed(
    "MicrosoftDocs/azure-monitor-docs, articles/azure-monitor/logs/private-link-configure.md at 0913a2c5", 2023, 7, 25
)
# Among the services that a managed network of Azure Machine Learning has private endpoints to: "Application Insights (Through
# PrivateLinkScopes)". Its workspace's identity approves them.
MANAGED_PAGE = observed(
    "MicrosoftDocs/azure-ai-docs, articles/machine-learning/how-to-managed-network.md, Private endpoints", 2026, 11, 30
)
GROUP = "azuremonitor"  # the part of a scope that a private endpoint leads to
ADDRESSES = 11  # of its endpoint: Azure/bicep-registry-modules, avm/res/insights/private-link-scope/tests/e2e/max, one region
ACCESS = {"open": "Open", "private_only": "PrivateOnly"}


def shared_names(path: str, why: str) -> Problem:
    """A warning: a new scope whose names others ask for, too. `why`: how they come to. "Because Azure Monitor uses some shared
    endpoints, setting up a private link even for a single resource changes the DNS configuration that affects traffic to all
    resources." A network connects to one scope; hubs and spokes use the hub's."""
    return refused("network.scope_takes_names", path, "create", why=why)


def check_existing(connections: int, path: str) -> list[Problem]:
    """A warning for an existing scope without an endpoint: the stack adds none. `connections`: approved ones."""
    if connections:
        return []
    return [refused("network.scope_without_endpoint", path)]
