"""Private networks: the DNS zones of private endpoints, the subnets of a network and their sizes, with the rules about them."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.aks.network import DEFAULT_POD_CIDR, DEFAULT_SERVICE_CIDR, VNET_INTEGRATION_PAGE
from azure_gpu.catalog.services.machine_learning.compute import PRIVATE_ZONES
from azure_gpu.catalog.sources import Source, observed

JOBS_PAGE = observed("Microsoft Learn, container-apps/networking, Environment selection", 2026, 11, 29)
DELEGATION_THREAD = observed("MicrosoftDocs/azure-docs issue 47048", 2020, 1, 29)
AKS_PAGE = observed("MicrosoftDocs/azure-aks-docs, articles/aks/concepts-network-cni-overview.md", 2026, 8, 21)
BLOB_ZONE = "privatelink.blob.core.windows.net"
FILE_ZONE = "privatelink.file.core.windows.net"
REGISTRY_ZONE = "privatelink.azurecr.io"
VAULT_ZONE = "privatelink.vaultcore.azure.net"
BATCH_ZONE = "privatelink.batch.azure.com"
ML_ZONES = PRIVATE_ZONES
ZONES = (BLOB_ZONE, FILE_ZONE, REGISTRY_ZONE, VAULT_ZONE, BATCH_ZONE, *ML_ZONES)
"""The zones that names of private endpoints are in. Source: `compute.PRIVATE_ZONES_PAGE`."""
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
        yield refused("network.bad_range", path, address_space, default_address_space=DEFAULT_ADDRESS_SPACE)
        return
    if given.prefixlen > LONGEST_PREFIX:
        yield refused("network.too_small", path, address_space, longest_prefix=LONGEST_PREFIX, given=given)
    for what, taken in (("services", DEFAULT_SERVICE_CIDR), ("pods", DEFAULT_POD_CIDR)):
        if given.overlaps(IPv4Network(taken)):
            yield refused(
                "network.overlaps_cluster",
                path,
                address_space,
                what=what,
                taken=taken,
                default_service_cidr=DEFAULT_SERVICE_CIDR,
                default_pod_cidr=DEFAULT_POD_CIDR,
                default_address_space=DEFAULT_ADDRESS_SPACE,
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
        yield refused("network.subnet_maybe_closed", path, others=", ".join(others))
    elif others:
        yield refused(
            "network.subnet_of_other_service",
            path,
            allowed=f"a subnet that is delegated to {wanted.service}" if wanted is not None else "a subnet without a delegation",
            source=source,
            others=", ".join(others),
        )
    elif wanted is not None and not subnet.delegations:
        yield refused("network.subnet_not_delegated", path, source=wanted.source, wanted=wanted)
    if wanted is not None and 0 < subnet.addresses < 2 ** (32 - wanted.longest_prefix) - RESERVED_ADDRESSES:
        yield refused("network.subnet_too_small", path, ", ".join(subnet.prefixes), source=wanted.source, wanted=wanted)


def check_nodes(subnet: Subnet, most_nodes: int, path: str) -> Iterator[Problem]:
    """The problem of a subnet with fewer addresses than a cluster may have nodes: AKS counts those of autoscaled pools at their
    most."""
    if subnet.prefixes and subnet.addresses < most_nodes:
        yield refused("network.too_few_addresses", path, ", ".join(subnet.prefixes), subnet=subnet, most_nodes=most_nodes)


def own_name_servers(servers: Sequence[str], path: str) -> Problem:
    """A warning: name servers of a network that don't know the zones that a stack creates."""
    return refused("network.own_name_servers", path, "own", servers=", ".join(servers))


def no_zone_of_nodes(path: str) -> Problem:
    """A warning: a policy registers the names of a Batch account, but none that is built in the one that its nodes ask for. The
    one definition about Batch has one condition: a group that equals batchAccount."""
    return refused("network.no_zone_of_nodes", path, batch_zone=BATCH_ZONE)


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
            yield refused("network.bad_zone", f"{path}[{index}]", zone)
            continue
        name = found[1].lower()
        if name in seen or (name not in taken and not is_of_clusters(name)):
            what = "network.zone_twice" if name in seen else "network.zone_of_nobody"
            yield refused(what, f"{path}[{index}]", zone, zones=", ".join(taken))
        elif by_policy and name != BATCH_ZONE and not is_of_clusters(name):
            yield refused("network.zone_beside_policy", f"{path}[{index}]", zone, batch_zone=BATCH_ZONE)
        seen.add(name)
