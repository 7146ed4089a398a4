"""Rules of AKS's Spot pools, and the label and taint of their nodes, by one page that hasn't changed them since."""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog import spot_price
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.aks.pool import SYSTEM, PoolRequest
from azure_gpu.catalog.sources import Dated, Source

SOURCE = Source("Microsoft Learn, articles/aks/spot-node-pool.md", Dated.OBSERVED, date(2025, 4, 6))

LABEL = ("kubernetes.azure.com/scalesetpriority", "spot")
TAINT = "kubernetes.azure.com/scalesetpriority=spot:NoSchedule"  # which a pod has to tolerate
EVICTION_POLICIES = ("Delete", "Deallocate")  # the first is the default; deallocated nodes go on counting against the quota


def check(request: PoolRequest) -> Iterator[Problem]:
    """All problems of this pool as one of Spot machines; none for an ordinary pool."""
    if request.spot is None:
        return
    if request.mode == SYSTEM:
        yield _impossible(request, "mode", "a Spot pool can't be the cluster's system pool", request.mode, "User", "write User")
    if not request.scale_set:
        fix = "use a virtual machine scale set"
        yield _impossible(
            request, "scale_set", "a Spot pool requires a virtual machine scale set", False, "VirtualMachineScaleSets", fix
        )
    if not request.standard_load_balancer:
        message = "a Spot pool requires the Standard load balancer"
        yield _impossible(request, "standard_load_balancer", message, False, "Standard", "use the Standard load balancer")
    if request.max_surge:
        message = "a Spot pool doesn't support surge nodes"
        yield _impossible(request, "max_surge", message, request.max_surge, "nothing", "leave it out")
    if request.spot.eviction_policy not in EVICTION_POLICIES:
        yield Problem(
            path=request.at("spot.eviction_policy"),
            message="unknown eviction policy",
            value=request.spot.eviction_policy,
            allowed=", ".join(EVICTION_POLICIES),
            fix="write Delete",
            source=str(SOURCE),
        )
    if not spot_price.is_possible(request.spot.max_price):
        yield spot_price.refused(request.at("spot.max_price"), request.spot.max_price, SOURCE)


def _impossible(request: PoolRequest, field: str, message: str, value: object, allowed: str, fix: str) -> Problem:
    return Problem(
        path=request.at(field), message=message, value=value, allowed=allowed, fix=fix, source=str(SOURCE), code=Code.IMPOSSIBLE
    )
