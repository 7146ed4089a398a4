"""Rules for an AKS cluster's network, Azure CNI's overlay: authorized ranges, private clusters, addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from typing import TYPE_CHECKING

from azure_gpu.catalog.problems import Problem, Severity, impossible
from azure_gpu.catalog.sources import Dated, Source

if TYPE_CHECKING:  # it loads with the first range that is looked at
    import ipaddress

RANGES_PAGE = Source("Microsoft Learn, articles/aks/api-server-authorized-ip-ranges.md", Dated.OBSERVED, date(2024, 5, 19))
PRIVATE_PAGE = Source("Microsoft Learn, articles/aks/private-clusters.md", Dated.OBSERVED, date(2026, 8, 5))
OVERLAY_PAGE = Source("Microsoft Learn, articles/aks/azure-cni-overlay.md", Dated.OBSERVED, date(2024, 8, 16))

MOST_RANGES = 200
DEFAULT_POD_CIDR = "10.244.0.0/16"
DEFAULT_SERVICE_CIDR = "10.0.0.0/16"
NODE_PREFIX = 24  # of the pods' addresses, for each node
LARGEST_SERVICES = 12  # the range of services must be smaller than this prefix
MAX_PODS = (10, 250)

_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")


def check_ranges(ranges: Sequence[str], path: str) -> Iterator[Problem]:
    """The problems of the authorized ranges of the cluster's API."""
    if len(ranges) > MOST_RANGES:
        yield impossible(path, "too many authorized ranges", len(ranges), f"at most {MOST_RANGES}", "merge some", RANGES_PAGE)
    for index, text in enumerate(ranges):
        here = f"{path}[{index}]"
        network = _network(text)
        if network is None:
            yield impossible(here, "not a valid address range", text, "such as 203.0.113.0/24", _corrected(text), RANGES_PAGE)
        elif network.version == 4 and network.prefixlen == 0:
            message = "this range includes every address, which restricts nothing"
            yield impossible(here, message, text, "your ranges", "write network: public, or narrower ranges", RANGES_PAGE)
        elif _is_private(network) and text != "0.0.0.0/32":
            message = "private range, but the API of a public cluster is reached from public addresses only"
            fix = "write your public address, or network: private"
            yield impossible(here, message, text, "public addresses", fix, RANGES_PAGE)


def check_addresses(pods: str, services: str, most_nodes: int, paths: Mapping[str, str]) -> Iterator[Problem]:
    """The problems of these ranges of pods and services for this number of nodes. `paths`: where the ranges are written."""
    of_pods, of_services = _network(pods), _network(services)
    for name, text, network in (("pods", pods, of_pods), ("services", services, of_services)):
        if network is None or network.version != 4:
            yield impossible(
                paths[name], "not a valid address range", text, "such as 10.244.0.0/16", _corrected(text), OVERLAY_PAGE
            )
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
    if not _is_private(of_pods):
        problem = impossible(
            paths["pods"], "AKS doesn't support public addresses for pods", pods, "private addresses", "", OVERLAY_PAGE
        )
        yield problem._replace(severity=Severity.WARNING)


def dns_address(services: str) -> str:
    """The address of the cluster's DNS in a range of services: the tenth, as AKS's default."""
    network = _network(services)
    return str(network[10]) if network is not None and network.num_addresses > 10 else ""


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    import ipaddress

    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


def _is_private(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    """Whether the addresses are private: in the ranges of RFC 1918 and RFC 6598, by AKS's pages."""
    return network.version == 4 and any(network.subnet_of(each) for each in _private())


@cache
def _private() -> tuple[ipaddress.IPv4Network, ...]:
    import ipaddress

    return tuple(ipaddress.IPv4Network(text) for text in _PRIVATE)


def _corrected(text: str) -> str:
    """The fix of an invalid range: often, it only doesn't begin with its first address."""
    import ipaddress

    try:
        return f"write {ipaddress.ip_network(text, strict=False)}"
    except ValueError:
        return "write an address, a slash and the length of the prefix"
