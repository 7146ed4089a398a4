"""Private networks: the DNS zones of private endpoints, the subnets of a network and their sizes, with the rules about them."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.aks.network import DEFAULT_POD_CIDR, DEFAULT_SERVICE_CIDR, OVERLAP_PAGE, VNET_INTEGRATION_PAGE
from azure_gpu.catalog.services.machine_learning.compute import PRIVATE_ZONES, PRIVATE_ZONES_PAGE
from azure_gpu.catalog.sources import Dated, Source

JOBS_PAGE = Source("Microsoft Learn, container-apps/networking, Environment selection", Dated.OBSERVED, date(2026, 11, 29))
TASKS_PAGE = Source(
    "Microsoft Learn, container-registry/manage-network-bypass-policy-for-tasks", Dated.OBSERVED, date(2026, 11, 29)
)
PREMIUM_PAGE = Source("Microsoft Learn, container-registry/container-registry-private-link", Dated.OBSERVED, date(2026, 11, 29))
DELEGATION_THREAD = Source("MicrosoftDocs/azure-docs issue 47048", Dated.OBSERVED, date(2020, 1, 29))
AKS_PAGE = Source(
    "MicrosoftDocs/azure-aks-docs, articles/aks/concepts-network-cni-overview.md", Dated.OBSERVED, date(2026, 8, 21)
)
SIZE_PAGE = Source("Microsoft Learn, Troubleshoot InsufficientSubnetSize", Dated.OBSERVED, date(2026, 11, 29))
NAMES_PAGE = Source("Microsoft Learn, private-link/private-endpoint-dns-integration", Dated.OBSERVED, date(2026, 11, 29))
# Its one condition: a group that equals batchAccount. No other definition has a zone for an endpoint of Batch.
NODES_POLICY = Source(
    "Azure/azure-policy, policyDefinitions/Batch/PrivateDnsZones_DINE.json at f7319d6e, and MicrosoftDocs/SupportArticles-docs "
    "pull request 1368",
    Dated.OBSERVED,
    date(2026, 11, 30),
)
BLOB_ZONE = "privatelink.blob.core.windows.net"
FILE_ZONE = "privatelink.file.core.windows.net"
REGISTRY_ZONE = "privatelink.azurecr.io"
VAULT_ZONE = "privatelink.vaultcore.azure.net"
BATCH_ZONE = "privatelink.batch.azure.com"
ML_ZONES = PRIVATE_ZONES
ZONES = (BLOB_ZONE, FILE_ZONE, REGISTRY_ZONE, VAULT_ZONE, BATCH_ZONE, *ML_ZONES)
"""The zones that names of private endpoints are in. Source: `PRIVATE_ZONES_PAGE`."""
MONITOR_ZONES = (
    "privatelink.monitor.azure.com",
    "privatelink.oms.opinsights.azure.com",
    "privatelink.ods.opinsights.azure.com",
    "privatelink.agentsvc.azure-automation.net",
)
"""Those of a private link scope, beside `BLOB_ZONE`. Source: `private_link_scopes.CONFIGURE_PAGE`."""

DEFAULT_ADDRESS_SPACE = "10.72.0.0/20"
LONGEST_PREFIX = 23  # of the whole network: its subnet for jobs has a sixteenth of it, and Container Apps requires a /27
_ZONE = r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft.Network/privateDnsZones/([^/]+)"
_OF_CLUSTERS = r"(?:[a-z0-9-]+\.)?privatelink\.[a-z0-9]+\.azmk8s\.io"
RESERVED_ADDRESSES = 5  # of each subnet
ENDPOINTS, JOBS, MACHINES, CLUSTERS, POOLS = "endpoints", "jobs", "machines", "clusters", "pools"
API_SERVERS = "api_servers"


class Delegated(NamedTuple):
    """What a subnet is delegated to, and what it has to be for that."""

    service: str
    whose: str  # the subnet, in messages
    by: str  # who requires it
    longest_prefix: int
    source: Source


DELEGATED = {
    JOBS: Delegated("Microsoft.App/environments", "an environment with workload profiles", "Container Apps", 27, JOBS_PAGE),
    API_SERVERS: Delegated("Microsoft.ContainerService/managedClusters", "API servers", "AKS", 28, VNET_INTEGRATION_PAGE),
}


def subnets(address_space: str, *, api_servers: bool = False) -> dict[str, str]:
    """Returns the ranges of the subnets: a quarter each for the nodes of clusters and of Batch pools, a sixteenth each for
    endpoints, jobs, machines and, where they are in the network, API servers; the rest stays free."""
    from ipaddress import IPv4Network  # here, because most programs have no network

    first, clusters, pools, _ = IPv4Network(address_space).subnets(2)
    endpoints, jobs, machines, servers = first.subnets(2)
    ranges = {ENDPOINTS: endpoints, JOBS: jobs, MACHINES: machines, CLUSTERS: clusters, POOLS: pools}
    ranges |= {API_SERVERS: servers} if api_servers else {}
    return {name: str(each) for name, each in ranges.items()}


def check_space(address_space: str, path: str) -> Iterator[Problem]:
    """The problems of the addresses of a network."""
    from ipaddress import IPv4Network

    try:
        given = IPv4Network(address_space)
    except ValueError:
        fix = f"write {DEFAULT_ADDRESS_SPACE}"
        yield Problem(
            path, "not a valid address range", address_space, f"such as {DEFAULT_ADDRESS_SPACE}", fix, source=str(JOBS_PAGE)
        )
        return
    if given.prefixlen > LONGEST_PREFIX:
        yield Problem(
            path=path,
            message="the network is too small: the subnet for jobs has a sixteenth of it, and Container Apps requires a /27",
            value=address_space,
            allowed=f"/{LONGEST_PREFIX} or larger",
            fix=f"write {given.network_address}/20",
            source=str(JOBS_PAGE),
            code=Code.IMPOSSIBLE,
        )
    for what, taken in (("services", DEFAULT_SERVICE_CIDR), ("pods", DEFAULT_POD_CIDR)):
        if given.overlaps(IPv4Network(taken)):
            yield Problem(
                path=path,
                message=f"overlaps the addresses of a cluster's {what}, {taken}",
                value=address_space,
                allowed=f"a range without addresses of {DEFAULT_SERVICE_CIDR} and {DEFAULT_POD_CIDR}",
                fix=f"write {DEFAULT_ADDRESS_SPACE}",
                source=str(OVERLAP_PAGE),
                code=Code.IMPOSSIBLE,
            )


class Subnet(NamedTuple):
    """An existing subnet, as Azure shows it."""

    prefixes: tuple[str, ...]
    delegations: tuple[str, ...]  # the services that it is delegated to

    @property
    def addresses(self) -> int:
        """The number of addresses that can be used."""
        from ipaddress import ip_network

        networks = [ip_network(each) for each in self.prefixes if ":" not in each]
        return sum(max(0, each.num_addresses - RESERVED_ADDRESSES) for each in networks)


def check_subnet(name: str, subnet: Subnet, path: str) -> Iterator[Problem]:
    """The problems of an existing subnet for its purpose: `name`, such as jobs."""
    wanted = DELEGATED.get(name)
    others = [each for each in subnet.delegations if wanted is None or each.lower() != wanted.service.lower()]
    source = wanted.source if wanted is not None else {ENDPOINTS: DELEGATION_THREAD, CLUSTERS: AKS_PAGE}.get(name)
    if source is None and others:
        yield Problem(
            path=path,
            message=f"the subnet is delegated to {', '.join(others)}, which may not let others into it",
            allowed="a subnet without a delegation",
            fix="use another subnet",
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )
    elif others:
        yield Problem(
            path=path,
            message=f"the subnet is delegated to {', '.join(others)}",
            allowed=f"a subnet that is delegated to {wanted.service}" if wanted is not None else "a subnet without a delegation",
            fix="use another subnet",
            source=str(source),
            code=Code.IMPOSSIBLE,
        )
    elif wanted is not None and not subnet.delegations:
        yield Problem(
            path=path,
            message=f"the subnet of {wanted.whose} has to be delegated to {wanted.service}",
            allowed=f"a subnet that is delegated to {wanted.service}",
            fix=f"have its owner run: az network vnet subnet update --ids <id> --delegations {wanted.service}",
            source=str(wanted.source),
            code=Code.IMPOSSIBLE,
        )
    if wanted is not None and 0 < subnet.addresses < 2 ** (32 - wanted.longest_prefix) - RESERVED_ADDRESSES:
        yield Problem(
            path=path,
            message=f"the subnet is too small: {wanted.by} requires a /{wanted.longest_prefix}",
            value=", ".join(subnet.prefixes),
            allowed=f"/{wanted.longest_prefix} or larger",
            fix="use another subnet",
            source=str(wanted.source),
            code=Code.IMPOSSIBLE,
        )


def check_nodes(subnet: Subnet, most_nodes: int, path: str) -> Iterator[Problem]:
    """The problem of a subnet with fewer addresses than a cluster may have nodes: AKS counts those of autoscaled pools at their
    most."""
    if subnet.prefixes and subnet.addresses < most_nodes:
        yield Problem(
            path=path,
            message=f"the subnet has {subnet.addresses} addresses, and the cluster's pools may have {most_nodes} nodes in all",
            value=", ".join(subnet.prefixes),
            allowed="an address for each node, and one more for each pool while it is upgraded; Azure keeps five of a subnet",
            fix="use a larger subnet, or lower `max_nodes`",
            source=str(SIZE_PAGE),
            code=Code.IMPOSSIBLE,
        )


def own_name_servers(servers: Sequence[str], path: str) -> Problem:
    """A warning: name servers of a network that don't know the zones that a stack creates."""
    return Problem(
        path=path,
        message=f"the network asks name servers of its own ({', '.join(servers)}), which don't know the zones that the stack "
        "creates: names of private endpoints would resolve to public addresses, which are closed",
        value="own",
        allowed="policy, or private_dns_zones that these servers resolve",
        fix="set dns: policy or the ids of your zones, or have the servers forward to 168.63.129.16 in this network",
        source=str(NAMES_PAGE),
        severity=Severity.WARNING,
    )


def no_zone_of_nodes(path: str) -> Problem:
    """A warning: a policy registers the names of a Batch account, but none that is built in the one that its nodes ask for."""
    return Problem(
        path=path,
        message="dns: policy, and no policy that Azure has built in registers the name by which the nodes of a Batch account "
        "reach it (nodeManagement): where nothing else does, they become unusable",
        allowed=f"the id of the zone {BATCH_ZONE}, in which the stack then registers this one name",
        fix=f"add the zone {BATCH_ZONE}, unless a policy of your own registers the name",
        source=str(NODES_POLICY),
        severity=Severity.WARNING,
    )


def is_of_clusters(name: str) -> bool:
    """Whether private clusters register in a zone of this name."""
    return re.fullmatch(_OF_CLUSTERS, name) is not None


def zones_of(*, monitor: bool) -> tuple[str, ...]:
    """The zones of a stack. `monitor`: with those of a private link scope."""
    return (*ZONES, *MONITOR_ZONES) if monitor else ZONES


def check_zones(zones: Sequence[str], path: str, *, by_policy: bool = False, monitor: bool = False) -> Iterator[Problem]:
    """The problems of the ids of existing zones. `by_policy`: a policy registers the names of private endpoints; `monitor`: the
    stack creates a private link scope."""
    seen: set[str] = set()
    taken = zones_of(monitor=monitor)
    for index, zone in enumerate(zones):
        found = re.fullmatch(_ZONE, zone, re.IGNORECASE)
        if found is None:
            yield Problem(
                path=f"{path}[{index}]",
                message="not a valid private DNS zone",
                value=zone,
                allowed="/subscriptions/<id>/resourceGroups/<name>/providers/Microsoft.Network/privateDnsZones/<name>",
                fix="`az network private-dns zone show --query id` prints it",
                source=str(PRIVATE_ZONES_PAGE),
            )
            continue
        name = found[1].lower()
        if name in seen or (name not in taken and not is_of_clusters(name)):
            yield Problem(
                path=f"{path}[{index}]",
                message="the zone is listed twice: a network resolves a name in one of them"
                if name in seen
                else "no private endpoint of this stack has a name in this zone",
                value=zone,
                allowed=f"one each of {', '.join(taken)}, privatelink.<region>.azmk8s.io",
                fix="remove it",
                source=str(PRIVATE_ZONES_PAGE),
                code=Code.IMPOSSIBLE,
            )
        elif by_policy and name != BATCH_ZONE and not is_of_clusters(name):
            yield Problem(
                path=f"{path}[{index}]",
                message="a policy registers the names, and chooses the zones",
                value=zone,
                allowed=f"with dns: own; with dns: policy only {BATCH_ZONE} and privatelink.<region>.azmk8s.io",
                fix="remove it, or write dns: own",
                source=str(NODES_POLICY),
            )
        seen.add(name)
