"""Checks a whole AKS node pool.

`size_rules` has the rules for sizes; `pool_rules`, `systems`, `mig`, `spot`, `managed_gpu` and `kubernetes_versions` have the
others.
"""

from datetime import date

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services import observed
from azure_gpu.catalog.services.aks import (
    kubernetes_versions,
    managed_gpu,
    mig,
    pool_rules,
    size_rules as aks,
    spot,
    systems as aks_systems,
)
from azure_gpu.catalog.services.aks.pool import PoolRequest
from azure_gpu.catalog.services.aks.sizes import AMD_PAGE, NodeSystem
from azure_gpu.catalog.services.aks.systems import needs_feature, node_system

INFINIBAND_FEATURE = "AKSInfinibandSupport"  # makes a pool one placement group, whose nodes share a network


def check(request: PoolRequest, as_of: date) -> list[Problem]:
    """All problems of the pool on that day. Empty: no known problem."""
    problems = [
        *pool_rules.check(request, as_of),
        *aks_systems.check(request, as_of),
        *mig.check(request, as_of),
        *spot.check(request),
        *managed_gpu.check(request, as_of),
    ]
    if request.kubernetes_version:
        path = request.at("kubernetes_version")
        problems += kubernetes_versions.check(request.kubernetes_version, as_of, path, lts=request.long_term_support)
    if request.size is not None:
        system = node_system(request)
        systems = frozenset({system}) if system is not None else frozenset[NodeSystem]()
        problems += aks.in_pool(request.size, systems, request.driver, as_of, request.at("size"), request.at("driver"))
        if request.size.gpu is not None and request.size.rdma and INFINIBAND_FEATURE not in request.features:
            feature = needs_feature(
                INFINIBAND_FEATURE, "nodes share an InfiniBand network only with a feature flag", request.at("size")
            )
            problems += observed.at(AMD_PAGE, as_of, feature)
    return problems
