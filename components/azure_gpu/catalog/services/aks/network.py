"""The network of an AKS cluster: its policies, access to its API, and the addresses of pods, services and nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.problems import Code, Problem, Severity, impossible
from azure_gpu.catalog.sources import Dated, Source

if TYPE_CHECKING:  # it loads with the first range that is looked at
    import ipaddress

RANGES_PAGE = Source("Microsoft Learn, articles/aks/api-server-authorized-ip-ranges.md", Dated.OBSERVED, date(2024, 5, 19))
PRIVATE_PAGE = Source("Microsoft Learn, articles/aks/private-clusters.md", Dated.OBSERVED, date(2026, 8, 5))
OLD_POLICIES = Source("Microsoft Learn, articles/aks/use-network-policies.md", Dated.OBSERVED, date(2024, 3, 28))
POLICIES_PAGE = Source("MicrosoftDocs/azure-aks-docs, Plan pod networking for AKS workloads", Dated.OBSERVED, date(2026, 9, 9))
FIREWALL_THREAD = Source(
    "MicrosoftDocs/azure-docs, pull request 84127, and mspnp/aks-baseline, pull request 261", Dated.OBSERVED, date(2021, 12, 14)
)
VNET_INTEGRATION_PAGE = Source(
    "MicrosoftDocs/azure-aks-docs, articles/aks/api-server-vnet-integration.md at 0154c991", Dated.OBSERVED, date(2026, 11, 30)
)
VNET_INTEGRATION_THREAD = Source("Azure/AKS issue 5415", Dated.OBSERVED, date(2025, 11, 4))

# Without API server VNet Integration until some day of 2027, by that thread; eastus2 was to have it in February 2026. Elsewhere
# its capacity is limited at times.
WITHOUT_VNET_INTEGRATION = ("qatarcentral",)
MOST_RANGES = 200
AZURE_POLICY, CILIUM = "azure", "cilium"
MAX_PODS = (10, 250)

_POLICY_MANAGER = Lifecycle(
    seen=OLD_POLICIES, announced=POLICIES_PAGE, end=Source(POLICIES_PAGE.where, Dated.VALID_FROM, date(2028, 9, 30))
)
_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")


def check_ranges(ranges: Sequence[str], path: str) -> Iterator[Problem]:
    """The problems of the authorized ranges of the cluster's API."""
    if len(ranges) > MOST_RANGES:
        yield impossible(path, "too many authorized ranges", len(ranges), f"at most {MOST_RANGES}", "merge some", RANGES_PAGE)
    for index, text in enumerate(ranges):
        here = f"{path}[{index}]"
        network = parsed(text)
        if network is None:
            yield impossible(here, "not a valid address range", text, "such as 203.0.113.0/24", corrected(text), RANGES_PAGE)
        elif network.version == 4 and network.prefixlen == 0:
            message = "this range includes every address, which restricts nothing"
            yield impossible(here, message, text, "your ranges", "write network: public, or narrower ranges", RANGES_PAGE)
        elif is_private(network) and text != "0.0.0.0/32":
            message = "private range, but the API of a public cluster is reached from public addresses only"
            fix = "write your public address, or network: private"
            yield impossible(here, message, text, "public addresses", fix, RANGES_PAGE)


def firewall_address(path: str, ranges: Sequence[str]) -> Problem:
    """A warning: with routes of one's own, nodes reach the API from the firewall's address, which Azure doesn't show."""
    return Problem(
        path=path,
        message="nodes reach the API through your firewall, whose public address has to be in these ranges, or creating "
        "the cluster fails after half an hour",
        value=list(ranges),
        allowed="the public addresses of the firewall, and yours",
        fix="add them if they are missing: `az network public-ip show --query ipAddress` prints one",
        source=str(FIREWALL_THREAD),
        severity=Severity.WARNING,
    )


def check_vnet_integration(server: str | None, nodes: str | None, path: str, *, with_subnet: bool) -> Iterator[Problem]:
    """The problems of the API server's subnet. `server`, `nodes`: the ids of both subnets; None: not set, or not known;
    `with_subnet`: whether the nodes' is set."""
    if not with_subnet:
        yield impossible(
            path,
            "the subnet of API servers requires `subnet_id`: both are in one network",
            server,
            "together with subnet_id",
            "set `subnet_id`, or remove it",
            VNET_INTEGRATION_PAGE,
        )
    if server is None or nodes is None:
        return
    if server.lower() == nodes.lower():
        message, fix = "the subnet of the nodes, too: that of API servers takes nothing else", "use a subnet of its own"
        yield impossible(path, message, server, "another subnet of the same network", fix, VNET_INTEGRATION_PAGE)
    elif server.lower().partition("/subnets/")[0] != nodes.lower().partition("/subnets/")[0]:
        message, fix = "in another network than the nodes' subnet", "use a subnet of the nodes' network"
        yield impossible(path, message, server, "another subnet of the same network", fix, VNET_INTEGRATION_PAGE)


def check_region_of_vnet_integration(location: str, path: str) -> Iterator[Problem]:
    """A warning: a region without API server VNet Integration, when it was looked at."""
    if location in WITHOUT_VNET_INTEGRATION:
        yield Problem(
            path=path,
            message=f"API server VNet Integration isn't offered in {location}, as far as is known",
            value=location,
            allowed="other regions, where it is offered as far as there is capacity",
            fix="remove it, or set another region",
            source=str(VNET_INTEGRATION_THREAD),
            code=Code.NOT_OFFERED,
            severity=Severity.WARNING,
        )


def check_policy(policy: str, as_of: date, path: str) -> Iterator[Problem]:
    """The problems of a network policy engine, by AKS's name of it."""
    if policy != AZURE_POLICY:
        return
    what, fix = "Azure Network Policy Manager", f"write {CILIUM}"
    if as_of >= POLICIES_PAGE.day:
        yield Problem(
            path=path,
            message=f"{what} can't be enabled any more in subscriptions that don't use it yet",
            value=policy,
            allowed=f"none, calico, {CILIUM}",
            fix=fix,
            source=str(POLICIES_PAGE),
            code=Code.NOT_OFFERED,
            severity=Severity.WARNING,
        )
    yield from lifecycle.check(_POLICY_MANAGER, what, as_of, path=path, value=policy, fix=fix)


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


OVERLAY_PAGE = Source("Microsoft Learn, articles/aks/azure-cni-overlay.md", Dated.OBSERVED, date(2024, 8, 16))
OVERLAP_PAGE = Source("Microsoft Learn, Troubleshoot ServiceCidrOverlapExistingSubnetsCidr", Dated.OBSERVED, date(2026, 9, 25))

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
        problem = impossible(
            path,
            f"the range of {what} overlaps the addresses of {where}: {', '.join(in_subnets or others)}",
            text,
            "a range that nothing in these networks uses",
            f"write another one, such as {_first_free(candidates, network.taken)}, or remove it",
            source,
        )
        yield problem if in_subnets else problem._replace(severity=Severity.WARNING)


def check_addresses(ranges: Ranges, most_nodes: int, paths: Mapping[str, str]) -> Iterator[Problem]:
    """The problems of these ranges for this number of nodes. `paths`: where the ranges are written."""
    pods, services = ranges
    of_pods, of_services = parsed(pods), parsed(services)
    for path, text, network in ((paths["pods"], pods, of_pods), (paths["services"], services, of_services)):
        if network is None or network.version != 4:
            yield impossible(path, "not a valid address range", text, "such as 10.244.0.0/16", corrected(text), OVERLAY_PAGE)
    if of_pods is None or of_services is None or of_pods.version != of_services.version:
        return
    if of_services.prefixlen <= LARGEST_SERVICES:
        allowed = f"a range smaller than /{LARGEST_SERVICES}"
        yield impossible(paths["services"], "the range of services is too large", services, allowed, "narrow it", OVERLAY_PAGE)
    if of_pods.overlaps(of_services):
        where = paths["pods"] if pods != DEFAULT_POD_CIDR else paths["services"]
        message = f"the ranges of pods and services overlap: {of_pods} and {of_services}"
        yield impossible(
            where, message, pods if where == paths["pods"] else services, "two separate ranges", "change one", OVERLAY_PAGE
        )
    room = 2 ** (NODE_PREFIX - of_pods.prefixlen) if of_pods.prefixlen <= NODE_PREFIX else 0
    if room < most_nodes:
        message = f"each node takes a /{NODE_PREFIX} of the pods' range, which has room for {room} nodes, not {most_nodes}"
        yield impossible(paths["pods"], message, pods, "a range with room for all nodes", "widen it", OVERLAY_PAGE)
    if not is_private(of_pods):
        problem = impossible(
            paths["pods"], "AKS doesn't support public addresses for pods", pods, "private addresses", "", OVERLAY_PAGE
        )
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
