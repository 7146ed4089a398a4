"""Pools of Spot machines on AKS: their rules, and what AKS writes onto their nodes.

In: a `PoolRequest` that has a `Spot`. Out: problems. The facts are of one page; none of them has changed since it was first seen.
"""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from catalog.problems import Code, Problem
from catalog.services.aks.pool import SYSTEM, PoolRequest, Spot
from catalog.sources import Dated, Source

SOURCE = Source("Microsoft Learn, articles/aks/spot-node-pool.md", Dated.OBSERVED, date(2025, 4, 6))

LABEL = ("kubernetes.azure.com/scalesetpriority", "spot")
TAINT = "kubernetes.azure.com/scalesetpriority=spot:NoSchedule"  # which a pod has to tolerate
EVICTION_POLICIES = ("Delete", "Deallocate")  # the first is the default; deallocated nodes go on counting against the quota
ANY_PRICE = -1
PRICE_DECIMALS = 5


def check(request: PoolRequest) -> Iterator[Problem]:
    """Every reason for which AKS refuses this pool as one of Spot machines; none for an ordinary pool."""
    if request.spot is None:
        return
    if request.mode == SYSTEM:
        yield _impossible(request, "mode", "a Spot pool can't be the cluster's system pool", request.mode, "User", "write User")
    if not request.scale_set:
        fix = "use a virtual machine scale set"
        yield _impossible(
            request, "scale_set", "a Spot pool is a virtual machine scale set", False, "VirtualMachineScaleSets", fix
        )
    if not request.standard_load_balancer:
        message = "a cluster with a Spot pool needs the Standard load balancer"
        yield _impossible(request, "standard_load_balancer", message, False, "Standard", "use the Standard load balancer")
    if request.max_surge:
        message = "a Spot pool gets no surge nodes when it is upgraded"
        yield _impossible(request, "max_surge", message, request.max_surge, "nothing", "leave it out")
    if request.spot.eviction_policy not in EVICTION_POLICIES:
        yield Problem(
            path=request.at("spot.eviction_policy"),
            message="an evicted node is deleted or deallocated",
            value=request.spot.eviction_policy,
            allowed=", ".join(EVICTION_POLICIES),
            fix="write Delete",
            source=str(SOURCE),
        )
    if not price_is_possible(request.spot):
        yield _impossible(
            request,
            "spot.max_price",
            "the highest Spot price is -1 or an amount of US dollars with at most five decimals",
            request.spot.max_price,
            "-1, or more than 0 with at most 5 decimals",
            "write -1, which pays up to the price of an ordinary machine",
        )


def price_is_possible(spot: Spot) -> bool:
    """-1, or more than 0 with at most five decimals."""
    price = Decimal(str(spot.max_price)).normalize()
    exponent = price.as_tuple().exponent
    if not isinstance(exponent, int):  # infinite, or no number
        return False
    return price == ANY_PRICE or (price > 0 and exponent >= -PRICE_DECIMALS)


def _impossible(request: PoolRequest, field: str, message: str, value: object, allowed: str, fix: str) -> Problem:
    return Problem(
        path=request.at(field), message=message, value=value, allowed=allowed, fix=fix, source=str(SOURCE), code=Code.IMPOSSIBLE
    )
