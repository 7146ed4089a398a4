"""An AKS cluster: its system pool, tiers, costs, maintenance windows, and what Azure Machine Learning's extension requires of it.

Unknown costs stay unknown, never 0. Disks, addresses, load balancer and traffic aren't included. The catalog has no sizes without
a GPU or InfiniBand; a size's vCPUs are read from its name, whose form Azure documents for series since version 3.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache

from azure_gpu.catalog import regions, tables
from azure_gpu.catalog.prices.hourly_cost import HourlyCost
from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.machine_learning.extension import LEAST_VCPUS, ROUTER_REPLICAS
from azure_gpu.catalog.sizes.lookup import normalise
from azure_gpu.catalog.sources import observed
from azure_gpu.catalog.tables import Table

# `catalog.prices` has only machines with GPUs or InfiniBand.
PRICES = observed(
    "Azure/karpenter-provider-azure, pkg/providers/pricing/zz_generated.pricing.go, from Azure's Retail Prices API", 2026, 6, 18
)
PRICE_TABLE = Table(
    tables.beside(__file__, "system_pool_prices.csv"),
    {"size": "of a machine without a GPU", "region": "as ARM spells it", "usd_hour": "on demand, without a licence"},
)

DEDICATED_TAINT = "CriticalAddonsOnly=true:NoSchedule"
REQUIRED_VCPUS = 4
MOST_NODES = 1000  # of any pool
FEWEST_VCPUS = 2  # fewer may not be used with AKS at all
REFUSED_SIZES = (
    "Standard_A0",
    "Standard_A1",
    "Standard_A1_v2",
    "Standard_F1",
    "Standard_F1s",
)  # with one vCPU, but names of another form
_NAME = r"Standard_(?P<family>[A-Z]+)(?P<vcpus>[0-9]+)(?:-(?P<active>[0-9]+))?[a-z]*(?:_[A-Za-z0-9]+)*_v(?P<version>\d+)"


def is_size_name(size_name: str) -> bool:
    """Whether the text has the form of a size's name."""
    return re.fullmatch(r"(?:Standard|Basic)_[A-Za-z0-9_-]{1,60}", normalise(size_name)) is not None


def vcpus(size_name: str) -> int | None:
    """The number of vCPUs in the name of a size; None if it has none, as before version 3 of a series."""
    match = re.fullmatch(_NAME, normalise(size_name))
    if match is None or int(match["version"]) < 3:
        return None
    return int(match["active"] or match["vcpus"])


def family(size_name: str) -> str:
    """The quota that its vCPUs count against, such as standardDSv5Family; empty if the name doesn't show it."""
    match = re.fullmatch(r"Standard_([A-Z]+)[0-9]+([a-z]*)_v(\d+)", normalise(size_name))
    if match is None or int(match[3]) < 3:
        return ""
    return f"standard{match[1]}{match[2].upper()}v{match[3]}Family"


def price(size_name: str, region: str) -> Price | None:
    """The hourly price of the machine in the region; None if unknown."""
    usd = _usd_hour().get((normalise(size_name).lower(), regions.normalise(region)))
    return Price(Decimal(usd), PRICES.day, str(PRICES)) if usd is not None else None


@cache
def _usd_hour() -> dict[tuple[str, str], str]:
    """The prices by size, in lower case, and region."""
    return {(row.filled("size").lower(), row.filled("region")): row.filled("usd_hour") for row in tables.read(PRICE_TABLE)}


def check_system_size(size_name: str, path: str) -> Iterator[Problem]:
    """The problems of these machines for the system pool, by their name."""
    name = normalise(size_name)
    count = vcpus(name)
    if not is_size_name(name):
        yield refused("aks.bad_size_name", path, size_name)
    elif name in REFUSED_SIZES or (count is not None and count < FEWEST_VCPUS):
        yield refused("aks.one_vcpu", path, name)
    elif name.startswith("Standard_B"):
        yield refused("aks.burstable", path, name)
    elif count is not None and count < REQUIRED_VCPUS:
        yield refused("aks.few_vcpus", path, name, count=count)


STANDARD_PRICE = observed("Microsoft Tech Community, AKS introduces Uptime SLA", 2020, 5, 13)

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


def control_plane(tier: str) -> HourlyCost:
    """The hourly cost of the control plane of a cluster. `tier`: empty for an existing cluster, whose isn't counted."""
    usd = USD_HOUR.get(tier) if tier else Decimal(0)
    if usd is None:
        return HourlyCost(None, (f"the tier {tier}",))
    return HourlyCost(usd, oldest=STANDARD_PRICE.day if usd else None)


def check_tier(tier: str, long_term_support: bool, path: str, plan_path: str) -> Iterator[Problem]:
    """The problems of this tier with this support plan: Premium and long-term support require each other."""
    if long_term_support and tier != PREMIUM:
        yield refused("aks.long_term_without_premium", plan_path, tier.lower())
    elif tier == PREMIUM and not long_term_support:
        yield refused("aks.premium_without_long_term", path, tier.lower())


CLUSTER_WINDOW = "aksManagedAutoUpgradeSchedule"
NODES_WINDOW = "aksManagedNodeOSUpgradeSchedule"
HOURS = (4, 24)


_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_OFFSET = r"[+-](?:0[0-9]|1[0-4]):[0-5][0-9]"


def check_window(start: str, hours: int, utc_offset: str, path: str) -> Iterator[Problem]:
    """The problems of a window like this."""
    if re.fullmatch(_TIME, start) is None:
        yield refused("aks.bad_window_start", f"{path}.start", start)
    if not HOURS[0] <= hours <= HOURS[1]:
        yield refused("aks.window_length", f"{path}.hours", hours, hours=HOURS)
    if re.fullmatch(_OFFSET, utc_offset) is None:
        yield refused("aks.bad_window_offset", f"{path}.utc_offset", utc_offset)


def extension_problems(
    path: str, *, local_accounts: bool, open_to_everybody: bool, fewest_nodes: int, fewest_vcpus: int | None
) -> Iterator[Problem]:
    """All requirements of the extension that this cluster doesn't meet. `fewest_vcpus`: of all permanent nodes; None: unknown."""
    if not local_accounts:
        yield refused("ml.extension_without_accounts", path, True)
    if not open_to_everybody:
        yield refused("ml.extension_from_outside", path, True)
    if fewest_nodes < ROUTER_REPLICAS:
        yield refused("ml.extension_nodes", path, True, replicas=ROUTER_REPLICAS, nodes=fewest_nodes)
    if fewest_vcpus is not None and fewest_vcpus < LEAST_VCPUS:
        yield refused("ml.extension_vcpus", path, True, least=LEAST_VCPUS, vcpus=fewest_vcpus)
