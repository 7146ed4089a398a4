"""How an AKS cluster's network can be made, and who reaches its API: authorized ranges, private clusters, addresses of pods.

In: ranges and choices as a user writes them. Out: problems. The network is Azure CNI's overlay.
"""

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
LARGEST_SERVICES = 12  # the range of services has to be smaller than this prefix says
MAX_PODS = (10, 250)

_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")


def check_ranges(ranges: Sequence[str], path: str) -> Iterator[Problem]:
    """What speaks against these as the ranges that may reach the cluster's API."""
    if len(ranges) > MOST_RANGES:
        yield impossible(
            path, "AKS takes no more authorized ranges", len(ranges), f"at most {MOST_RANGES}", "join some", RANGES_PAGE
        )
    for index, text in enumerate(ranges):
        here = f"{path}[{index}]"
        network = _network(text)
        if network is None:
            yield impossible(here, "this is no range of addresses", text, "such as 203.0.113.0/24", _mended(text), RANGES_PAGE)
        elif network.version == 4 and network.prefixlen == 0:
            message = "this range is everybody, which is no restriction"
            yield impossible(here, message, text, "ranges of your own", "write network: public, or narrower ranges", RANGES_PAGE)
        elif _is_private(network) and text != "0.0.0.0/32":
            message = "the API of a cluster that isn't private sees public addresses alone, and nobody comes from this range"
            fix = "write the public address behind which you are, or network: private"
            yield impossible(here, message, text, "public addresses", fix, RANGES_PAGE)


def check_addresses(pods: str, services: str, most_nodes: int, paths: Mapping[str, str]) -> Iterator[Problem]:
    """What speaks against these ranges of pods and services for so many nodes. `paths`: where `pods` and `services` stand."""
    of_pods, of_services = _network(pods), _network(services)
    for name, text, network in (("pods", pods, of_pods), ("services", services, of_services)):
        if network is None or network.version != 4:
            yield impossible(
                paths[name], "this is no range of addresses", text, "such as 10.244.0.0/16", _mended(text), OVERLAY_PAGE
            )
    if of_pods is None or of_services is None or of_pods.version != of_services.version:
        return
    if of_services.prefixlen <= LARGEST_SERVICES:
        allowed = f"a range smaller than /{LARGEST_SERVICES}"
        yield impossible(
            paths["services"], "AKS takes no range of services as large as this", services, allowed, "narrow it", OVERLAY_PAGE
        )
    if of_pods.overlaps(of_services):
        where = paths["pods"] if pods != DEFAULT_POD_CIDR else paths["services"]
        message = f"pods and services share addresses: {of_pods} and {of_services}"
        yield impossible(
            where, message, pods if where == paths["pods"] else services, "two ranges apart", "move one", OVERLAY_PAGE
        )
    room = 2 ** (NODE_PREFIX - of_pods.prefixlen) if of_pods.prefixlen <= NODE_PREFIX else 0
    if room < most_nodes:
        message = (
            f"each node takes a /{NODE_PREFIX} of the pods' addresses, so there is room for {room} nodes and not for {most_nodes}"
        )
        yield impossible(paths["pods"], message, pods, "a range with room for all nodes", "widen it", OVERLAY_PAGE)
    if not _is_private(of_pods):
        problem = impossible(
            paths["pods"], "public addresses for pods are outside AKS's support", pods, "private addresses", "", OVERLAY_PAGE
        )
        yield problem._replace(severity=Severity.WARNING)


def dns_address(services: str) -> str:
    """The address of the cluster's DNS in a range of services: the tenth, as AKS has it by itself."""
    network = _network(services)
    return str(network[10]) if network is not None and network.num_addresses > 10 else ""


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    import ipaddress

    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


def _is_private(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    """Whether nobody has these addresses in the internet: the ranges of RFC 1918 and RFC 6598, which AKS's pages name."""
    return network.version == 4 and any(network.subnet_of(each) for each in _private())


@cache
def _private() -> tuple[ipaddress.IPv4Network, ...]:
    import ipaddress

    return tuple(ipaddress.IPv4Network(text) for text in _PRIVATE)


def _mended(text: str) -> str:
    """A range has to begin with its first address; often only that is wrong."""
    import ipaddress

    try:
        return f"write {ipaddress.ip_network(text, strict=False)}"
    except ValueError:
        return "write an address, a slash and how many bits of it count"
