"""The addresses of an AKS cluster's pods and services, Azure CNI's overlay, and of the network that its nodes are in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem, Severity, impossible
from azure_gpu.catalog.services.aks.network import corrected, is_private, parsed
from azure_gpu.catalog.sources import Dated, Source

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


def choose(given: Ranges, network: NetworkAddresses) -> Ranges:
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


def check_ranges(ranges: Ranges, most_nodes: int, paths: Mapping[str, str]) -> Iterator[Problem]:
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
