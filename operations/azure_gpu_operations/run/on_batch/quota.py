"""Whether the quotas of a Batch account allow the nodes that a task needs at once: where they don't, it would wait for ever.

In: the pool, what is wanted, the account as ARM answers it. Out: problems. Pure. What other pools hold of a quota isn't counted:
they may give it back.
"""

from collections.abc import Mapping
from typing import Any

from azure_gpu.catalog import quotas
from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.quotas import BatchAccountLimits, Limit
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.formats.autoscale_formula.bounds import most_of_each
from azure_gpu_operations.batch.pool_facts import PoolFacts
from azure_gpu_operations.run.on_batch.wanted import Wanted

_IN_SUBSCRIPTION = "UserSubscription"  # such an account draws from the quotas of virtual machines


def check(pool: PoolFacts, wanted: Wanted, account: Mapping[str, Any]) -> list[Problem]:
    needed = wanted.most_nodes
    properties = account.get("properties") or {}
    if needed == 1 or properties.get("poolAllocationMode") == _IN_SUBSCRIPTION:
        return []
    dedicated, spot = (most_of_each(pool.formula) if pool.formula else None) or (pool.target_dedicated, pool.target_spot)
    if bool(dedicated) == bool(spot):  # of both kinds each may bring some of them
        return []
    path = "--tasks" if wanted.from_file else "--nodes"
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
