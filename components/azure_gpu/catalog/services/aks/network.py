"""Rules for an AKS cluster's network, Azure CNI's overlay: authorized ranges, private clusters, network policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from typing import TYPE_CHECKING

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
