"""Checks whether the quotas of a Batch account allow the nodes that a task needs at once; otherwise it would wait forever. Pure.

Quota in use by other pools isn't subtracted, because they may release it.
"""

from collections.abc import Mapping
from typing import Any

from azure_gpu.catalog import quotas
from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.quotas import BatchAccountLimits, Limit
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.formats.autoscale_formula.bounds import most_of_each
from azure_gpu_operations.batch.pool_facts import PoolFacts
from azure_gpu_operations.run.on_batch.request import BatchRequest

_IN_SUBSCRIPTION = "UserSubscription"  # such an account uses the quotas of virtual machines


def check(pool: PoolFacts, request: BatchRequest, account: Mapping[str, Any]) -> list[Problem]:
    needed = request.most_nodes
    properties = account.get("properties") or {}
    if needed == 1 or properties.get("poolAllocationMode") == _IN_SUBSCRIPTION:
        return []
    dedicated, spot = (most_of_each(pool.formula) if pool.formula else None) or (pool.target_dedicated, pool.target_spot)
    if bool(dedicated) == bool(spot):  # with both kinds, each may provide some of the nodes
        return []
    path = "--tasks" if request.from_file else "--nodes"
    use = SizeUse(Service.BATCH, pool.size, str(account.get("location") or ""), path, "--pool", needed, spot=bool(spot))
    return errors(quotas.batch_problems([use], _limits(account, properties)))


def _limits(account: Mapping[str, Any], properties: Mapping[str, Any]) -> BatchAccountLimits:
    families = properties.get("dedicatedCoreQuotaPerVMFamily") or ()
    return BatchAccountLimits(
        account=str(account.get("name") or ""),
        region=str(account.get("location") or ""),
        families=tuple(Limit(str(each["name"]), int(each["coreQuota"])) for each in families),
        families_enforced=bool(properties.get("dedicatedCoreQuotaPerVMFamilyEnforced")),
        dedicated=properties.get("dedicatedCoreQuota"),
        spot=properties.get("lowPriorityCoreQuota"),
    )
