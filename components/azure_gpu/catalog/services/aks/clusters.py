"""The tiers of an AKS cluster, their rules and prices, and the hourly cost of a cluster.

Unknown costs stay unknown, never 0. Disks, addresses, load balancer and traffic aren't included.
"""

from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal

from azure_gpu.catalog.prices import PriceBook
from azure_gpu.catalog.prices.hourly_cost import HourlyCost, Machines, of_machines
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.aks import system_pools
from azure_gpu.catalog.sources import Dated, Source

TIERS_PAGE = Source("Microsoft Learn, articles/aks/free-standard-pricing-tiers.md", Dated.OBSERVED, date(2024, 6, 7))
STANDARD_PRICE = Source("Microsoft Tech Community, AKS introduces Uptime SLA", Dated.OBSERVED, date(2020, 5, 13))

SERVER_APP = "6dae42f8-4368-4678-94ff-3960e28e3630"  # the audience of tokens: AKS in Entra, the same for every cluster
FREE = "Free"
STANDARD = "Standard"
PREMIUM = "Premium"
LONG_TERM_SUPPORT = "AKSLongTermSupport"
# Those of Kubernetes and AKS, and of the components that serve GPUs.
SYSTEM_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "gatekeeper-system", "gpu-resources")
USD_HOUR: dict[str, Decimal | None] = {  # of the control plane; None: no source read gives it
    FREE: Decimal(0),
    STANDARD: Decimal("0.10"),
    PREMIUM: None,
}


def hourly(nodes: Iterable[Machines], tier: str, region: str, prices: PriceBook) -> HourlyCost:
    """The hourly cost of nodes and control plane. `tier`: empty for an existing cluster, whose control plane isn't counted."""
    of_tier = USD_HOUR.get(tier) if tier else Decimal(0)
    if of_tier is None:
        control_plane = HourlyCost(None, (f"the tier {tier}",))
    else:
        control_plane = HourlyCost(of_tier, oldest=STANDARD_PRICE.day if of_tier else None)
    return control_plane.plus(of_machines(nodes, region, prices, system_pools.price))


def check_tier(tier: str, long_term_support: bool, path: str, plan_path: str) -> Iterator[Problem]:
    """The problems of this tier with this support plan: Premium and long-term support require each other."""
    if long_term_support and tier != PREMIUM:
        yield _together(plan_path, "the long-term support plan requires the premium tier", tier, "write tier: premium")
    elif tier == PREMIUM and not long_term_support:
        message = "the premium tier requires the long-term support plan"
        yield _together(path, message, tier, "write long_term_support: true, or tier: standard")


def _together(path: str, message: str, value: str, fix: str) -> Problem:
    return Problem(path=path, message=message, value=value.lower(), fix=fix, source=str(TIERS_PAGE), code=Code.IMPOSSIBLE)
