"""Azure Monitor private link scopes: how a log workspace and Application Insights become private, and whom that affects."""

from datetime import date

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.sources import Dated, Source

# "Because Azure Monitor uses some shared endpoints, setting up a private link even for a single resource changes the DNS
# configuration that affects traffic to all resources." A network connects to one scope; hubs and spokes use the hub's.
DNS_PAGE = Source(
    "MicrosoftDocs/azure-monitor-docs, articles/azure-monitor/logs/private-link-security.md, Azure Monitor private links rely on "
    "your DNS, at 0c16688e, and private-link-design.md at 128b0495",
    Dated.OBSERVED,
    date(2024, 10, 23),
)
# "It's not possible to delete resources connected to an AMPLS."
CONFIGURE_PAGE = Source(
    "MicrosoftDocs/azure-monitor-docs, articles/azure-monitor/logs/private-link-configure.md at 0913a2c5",
    Dated.OBSERVED,
    date(2023, 7, 25),
)
# Among the services that a managed network of Azure Machine Learning has private endpoints to: "Application Insights (Through
# PrivateLinkScopes)". Its workspace's identity approves them.
MANAGED_PAGE = Source(
    "MicrosoftDocs/azure-ai-docs, articles/machine-learning/how-to-managed-network.md, Private endpoints",
    Dated.OBSERVED,
    date(2026, 11, 30),
)
GROUP = "azuremonitor"  # the part of a scope that a private endpoint leads to
ADDRESSES = 11  # of its endpoint: Azure/bicep-registry-modules, avm/res/insights/private-link-scope/tests/e2e/max, one region
ACCESS = {"open": "Open", "private_only": "PrivateOnly"}


def shared_names(path: str, why: str) -> Problem:
    """A warning: a new scope whose names others ask for, too. `why`: how they come to."""
    return Problem(
        path=path,
        message=f"{why}: the names of all of Azure Monitor then lead to this scope's endpoint, for every network that asks the "
        "same zones, and override those of another scope",
        value="create",
        allowed="existing: <id> of the scope that these networks have, or create where they have none",
        fix="request the id of the networks' scope from their owner, and write existing: <id>",
        source=str(DNS_PAGE),
        severity=Severity.WARNING,
    )


def check_existing(connections: int, path: str) -> list[Problem]:
    """A warning for an existing scope without an endpoint: the stack adds none. `connections`: approved ones."""
    if connections:
        return []
    return [
        Problem(
            path=path,
            message="the scope has no approved private endpoint: no network would reach the logs, which are closed to others",
            allowed="a scope with a private endpoint in the network, or in its hub",
            fix="have its owner create one, or write `create`",
            source=str(CONFIGURE_PAGE),
            severity=Severity.WARNING,
        )
    ]
