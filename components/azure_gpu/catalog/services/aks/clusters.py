"""What AKS takes and asks for a cluster as a whole: tiers, their prices, and what a cluster costs while nothing runs.

In: a tier, pools as sizes and numbers of nodes, and prices. Out: problems, and an `HourlyCost`. What is not known stays so: it is
never 0. Disks, addresses, load balancer and traffic aren't in it.
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

FREE = "Free"
STANDARD = "Standard"
PREMIUM = "Premium"
LONG_TERM_SUPPORT = "AKSLongTermSupport"
USD_HOUR: dict[str, Decimal | None] = {  # of the control plane; None: no source read gives it
    FREE: Decimal(0),
    STANDARD: Decimal("0.10"),
    PREMIUM: None,
}


def hourly(nodes: Iterable[Machines], tier: str, region: str, prices: PriceBook) -> HourlyCost:
    """What so many nodes cost there together with the control plane. `tier`: empty where the cluster is somebody else's."""
    of_tier = USD_HOUR.get(tier) if tier else Decimal(0)
    if of_tier is None:
        control_plane = HourlyCost(None, (f"the tier {tier}",))
    else:
        control_plane = HourlyCost(of_tier, oldest=STANDARD_PRICE.day if of_tier else None)
    return control_plane.plus(of_machines(nodes, region, prices, system_pools.price))


def check_tier(tier: str, long_term_support: bool, path: str, plan_path: str) -> Iterator[Problem]:
    """What speaks against this tier with this support plan: Premium and long-term support come together alone."""
    if long_term_support and tier != PREMIUM:
        yield _together(plan_path, "the long-term support plan needs the premium tier", tier, "write tier: premium")
    elif tier == PREMIUM and not long_term_support:
        message = "the premium tier comes with the long-term support plan alone"
        yield _together(path, message, tier, "write long_term_support: true, or tier: standard")


def _together(path: str, message: str, value: str, fix: str) -> Problem:
    return Problem(path=path, message=message, value=value.lower(), fix=fix, source=str(TIERS_PAGE), code=Code.IMPOSSIBLE)
