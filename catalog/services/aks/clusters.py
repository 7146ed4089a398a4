"""What AKS takes and asks for a cluster as a whole: tiers, their prices, and what a cluster costs while nothing runs.

In: a tier, pools as sizes and numbers of nodes, and prices. Out: problems, and a `ClusterCost`. What is not known stays so: it is
never 0. Disks, addresses, load balancer and traffic aren't in it.
"""

from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from catalog.facts import Fact
from catalog.prices import PriceBook
from catalog.prices.price_book import Price
from catalog.problems import Code, Problem
from catalog.services.aks import system_pools
from catalog.sources import Dated, Source

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

FACTS: tuple[Fact, ...] = (
    Fact("free tier", "no charge; recommended for fewer than 10 nodes, at most 1,000", TIERS_PAGE),
    Fact("standard tier", "service level agreement of 99.9 %, 99.95 % over zones; at most 5,000 nodes", TIERS_PAGE),
    Fact("price of the standard tier", "0.10 USD per cluster and hour, as the Uptime SLA that it came from", STANDARD_PRICE),
    Fact(
        "premium tier", "with the plan AKSLongTermSupport alone, and the plan with it alone; its price was not found", TIERS_PAGE
    ),
)


class Nodes(NamedTuple):
    """So many machines of one kind."""

    size: str
    number: int
    spot: bool = False


class ClusterCost(NamedTuple):
    """USD an hour. `unknown` says what has no price, in words; then there is no sum."""

    usd_hour: Decimal | None
    unknown: tuple[str, ...] = ()
    oldest: date | None = None  # on which the oldest of its prices was read

    def text(self, as_of: date) -> str:
        """For people: `0.192 USD/hour (list price of 2026-06-18)`, or why there is none."""
        if self.usd_hour is None:
            return f"not known: no price of {' and of '.join(self.unknown)}"
        if self.oldest is None:
            return f"{self.usd_hour:f} USD/hour"
        return Price(self.usd_hour, self.oldest, "").text(as_of)


def hourly(nodes: Iterable[Nodes], tier: str, region: str, prices: PriceBook) -> ClusterCost:
    """What so many nodes cost there together with the control plane. `tier`: empty where the cluster is somebody else's."""
    total, unknown, days = Decimal(0), list[str](), list[date]()
    if tier:
        of_tier = USD_HOUR.get(tier)
        if of_tier is None:
            unknown.append(f"the tier {tier}")
        elif of_tier:
            days.append(STANDARD_PRICE.day)
            total += of_tier
    for each in nodes:
        if each.number <= 0:
            continue
        if each.spot:
            price = prices.spot(each.size, region)
        else:
            price = prices.on_demand(each.size, region) or system_pools.price(each.size, region)
        if price is None:
            unknown.append(f"{'Spot ' if each.spot else ''}{each.size} in {region}")
        else:
            days.append(price.day)
            total += price.usd_hour * each.number
    if unknown:
        return ClusterCost(None, tuple(dict.fromkeys(unknown)))
    return ClusterCost(total, (), min(days, default=None))


def check_tier(tier: str, long_term_support: bool, path: str, plan_path: str) -> Iterator[Problem]:
    """What speaks against this tier with this support plan: Premium and long-term support come together alone."""
    if long_term_support and tier != PREMIUM:
        yield _together(plan_path, "the long-term support plan needs the premium tier", tier, "write tier: premium")
    elif tier == PREMIUM and not long_term_support:
        message = "the premium tier comes with the long-term support plan alone"
        yield _together(path, message, tier, "write long_term_support: true, or tier: standard")


def _together(path: str, message: str, value: str, fix: str) -> Problem:
    return Problem(path=path, message=message, value=value.lower(), fix=fix, source=str(TIERS_PAGE), code=Code.IMPOSSIBLE)
