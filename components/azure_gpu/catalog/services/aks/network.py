"""The network of an AKS cluster: its policies, access to its API, and the addresses of pods, services and nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.sources import observed

if TYPE_CHECKING:  # it loads with the first range that is looked at
    import ipaddress

POLICIES_PAGE = observed("MicrosoftDocs/azure-aks-docs, Plan pod networking for AKS workloads", 2026, 9, 9)
VNET_INTEGRATION_PAGE = observed(
    "MicrosoftDocs/azure-aks-docs, articles/aks/api-server-vnet-integration.md at 0154c991", 2026, 11, 30
)

# Without API server VNet Integration until some day of 2027, by that thread; eastus2 was to have it in February 2026. Elsewhere
# its capacity is limited at times.
WITHOUT_VNET_INTEGRATION = ("qatarcentral",)
MOST_RANGES = 200
AZURE_POLICY, CILIUM = "azure", "cilium"
MAX_PODS = (10, 250)

_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")


def check_ranges(ranges: Sequence[str], path: str) -> Iterator[Problem]:
    """The problems of the authorized ranges of the cluster's API."""
    if len(ranges) > MOST_RANGES:
        yield refused("aks.too_many_ranges", path, len(ranges), most_ranges=MOST_RANGES)
    for index, text in enumerate(ranges):
        here = f"{path}[{index}]"
        network = parsed(text)
        if network is None:
            yield refused("aks.bad_authorized_range", here, text, fix=corrected(text))
        elif network.version == 4 and network.prefixlen == 0:
            yield refused("aks.range_of_everybody", here, text)
        elif is_private(network) and text != "0.0.0.0/32":
            yield refused("aks.private_authorized_range", here, text)


def firewall_address(path: str, ranges: Sequence[str]) -> Problem:
    """A warning: with routes of one's own, nodes reach the API from the firewall's address, which Azure doesn't show."""
    return refused("aks.firewall_address", path, list(ranges))


def check_vnet_integration(server: str | None, nodes: str | None, path: str, *, with_subnet: bool) -> Iterator[Problem]:
    """The problems of the API server's subnet. `server`, `nodes`: the ids of both subnets; None: not set, or not known;
    `with_subnet`: whether the nodes' is set."""
    if not with_subnet:
        yield refused("aks.api_servers_without_subnet", path, server)
    if server is None or nodes is None:
        return
    if server.lower() == nodes.lower():
        yield refused("aks.api_servers_in_nodes_subnet", path, server)
    elif server.lower().partition("/subnets/")[0] != nodes.lower().partition("/subnets/")[0]:
        yield refused("aks.api_servers_in_other_network", path, server)


def check_region_of_vnet_integration(location: str, path: str) -> Iterator[Problem]:
    """A warning: a region without API server VNet Integration, when it was looked at."""
    if location in WITHOUT_VNET_INTEGRATION:
        yield refused("aks.no_vnet_integration_there", path, location)


def check_policy(policy: str, as_of: date, path: str) -> Iterator[Problem]:
    """The problems of a network policy engine, by AKS's name of it."""
    if policy != AZURE_POLICY:
        return
    what, fix = "Azure Network Policy Manager", f"write {CILIUM}"
    if as_of >= POLICIES_PAGE.day:
        yield refused("aks.policy_manager_closed", path, policy, fix=fix, what=what, cilium=CILIUM)
    yield from lifecycle.of_part("aks.network_policy_manager", as_of, path, policy)


def parsed(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """A range of addresses; None if the text isn't one."""
    import ipaddress

    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


def is_private(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    """Whether the addresses are private: in the ranges of RFC 1918 and RFC 6598, by AKS's pages."""
    return network.version == 4 and any(network.subnet_of(each) for each in _private())


@cache
def _private() -> tuple[ipaddress.IPv4Network, ...]:
    import ipaddress

    return tuple(ipaddress.IPv4Network(text) for text in _PRIVATE)


def corrected(text: str) -> str:
    """The fix of an invalid range: often, it only doesn't begin with its first address."""
    import ipaddress

    try:
        return f"write {ipaddress.ip_network(text, strict=False)}"
    except ValueError:
        return "write an address, a slash and the length of the prefix"


OVERLAY_PAGE = observed("Microsoft Learn, articles/aks/azure-cni-overlay.md", 2024, 8, 16)
OVERLAP_PAGE = observed("Microsoft Learn, Troubleshoot ServiceCidrOverlapExistingSubnetsCidr", 2026, 9, 25)

NODE_PREFIX = 24  # of the pods' addresses, for each node
LARGEST_SERVICES = 12  # the range of services must be smaller than this prefix
DEFAULT_POD_CIDR = "10.244.0.0/16"
DEFAULT_SERVICE_CIDR = "10.0.0.0/16"
# In the order of preference. AKS's own defaults come first; its range of services is what Azure gives to a new virtual network.
_POD_CIDRS = (DEFAULT_POD_CIDR, "100.64.0.0/16", "172.30.0.0/16", "192.168.0.0/16")
_SERVICE_CIDRS = (DEFAULT_SERVICE_CIDR, "172.16.0.0/16", "10.100.0.0/16", "192.168.0.0/16")


class Ranges(NamedTuple):
    """The addresses of a cluster's pods and services. Empty: not set, or not known."""

    pods: str = ""
    services: str = ""


class NetworkAddresses(NamedTuple):
    """The addresses of the virtual network that a cluster's nodes are in."""

    subnets: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    """The network's whole address space, and those of peered networks."""

    @property
    def taken(self) -> tuple[str, ...]:
        return (*self.subnets, *self.others)


NOT_READ = NetworkAddresses()


def choose_ranges(given: Ranges, network: NetworkAddresses) -> Ranges:
    """The ranges of a new cluster: those that are set; else the first that overlap nothing in its network, and AKS's defaults if
    none is free."""
    services = given.services or _first_free(_SERVICE_CIDRS, (*network.taken, given.pods or DEFAULT_POD_CIDR))
    return Ranges(given.pods or _first_free(_POD_CIDRS, (*network.taken, services)), services)


def check_network(ranges: Ranges, network: NetworkAddresses, paths: Mapping[str, str]) -> Iterator[Problem]:
    """The problems of these ranges in that network: an error where they overlap a subnet, since AKS rejects it, a warning where
    they overlap other addresses that are routed. `paths`: where the ranges are written."""
    rows = (
        ("pods", ranges.pods, paths["pods"], _POD_CIDRS, OVERLAY_PAGE),
        ("services", ranges.services, paths["services"], _SERVICE_CIDRS, OVERLAP_PAGE),
    )
    for what, text, path, candidates, source in rows:
        in_subnets = _overlapped(text, network.subnets)
        others = [] if in_subnets else _overlapped(text, network.others)
        if not in_subnets and not others:
            continue
        where = "a subnet" if in_subnets else "the virtual network or of one that is peered with it"
        problem = refused(
            "aks.range_overlaps_network",
            path,
            text,
            source=source,
            what=what,
            where=where,
            overlapped=", ".join(in_subnets or others),
            free=_first_free(candidates, network.taken),
        )
        yield problem if in_subnets else problem._replace(severity=Severity.WARNING)


def check_addresses(ranges: Ranges, most_nodes: int, paths: Mapping[str, str]) -> Iterator[Problem]:
    """The problems of these ranges for this number of nodes. `paths`: where the ranges are written."""
    pods, services = ranges
    of_pods, of_services = parsed(pods), parsed(services)
    for path, text, network in ((paths["pods"], pods, of_pods), (paths["services"], services, of_services)):
        if network is None or network.version != 4:
            yield refused("aks.bad_range", path, text, fix=corrected(text))
    if of_pods is None or of_services is None or of_pods.version != of_services.version:
        return
    if of_services.prefixlen <= LARGEST_SERVICES:
        yield refused("aks.services_range_too_large", paths["services"], services, largest_services=LARGEST_SERVICES)
    if of_pods.overlaps(of_services):
        where = paths["pods"] if pods != DEFAULT_POD_CIDR else paths["services"]
        yield refused(
            "aks.ranges_overlap", where, pods if where == paths["pods"] else services, of_pods=of_pods, of_services=of_services
        )
    room = 2 ** (NODE_PREFIX - of_pods.prefixlen) if of_pods.prefixlen <= NODE_PREFIX else 0
    if room < most_nodes:
        yield refused("aks.pods_range_too_small", paths["pods"], pods, node_prefix=NODE_PREFIX, room=room, most_nodes=most_nodes)
    if not is_private(of_pods):
        problem = refused("aks.public_pod_addresses", paths["pods"], pods)
        yield problem._replace(severity=Severity.WARNING)


def dns_address(services: str) -> str:
    """The address of the cluster's DNS in a range of services: the tenth, as AKS's default."""
    network = parsed(services)
    return str(network[10]) if network is not None and network.num_addresses > 10 else ""


def _first_free(candidates: Sequence[str], taken: Sequence[str]) -> str:
    return next((each for each in candidates if not _overlapped(each, taken)), candidates[0])


def _overlapped(text: str, taken: Sequence[str]) -> list[str]:
    """Those of `taken` that overlap this range."""
    network = parsed(text)
    others = {each: parsed(each) for each in dict.fromkeys(taken)} if network is not None else {}
    return [
        each
        for each, other in others.items()
        if other and network and other.version == network.version and network.overlaps(other)
    ]
