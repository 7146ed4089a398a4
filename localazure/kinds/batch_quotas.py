"""Quotas of a Batch account (pools, jobs, and vCPUs by family), and whether more of them fit.

The numbers are generous, as those of Microsoft.Compute are here; faults on purpose set others (service `batch`: a family,
`cores`, `lowPriorityCores`, `pools`, `accounts`). The service takes a pool that is over a quota of vCPUs, and its resize stops
with an error: codes of Microsoft Learn, troubleshoot/azure/hpc/batch/azure-batch-pool-resizing-failure, sentences of users.
"""

from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import same_family
from azure_gpu.formats import azure_types
from localazure.arm.store import Body, Resource
from localazure.kinds import batch_families
from localazure.kinds.batch_families import FAMILIES
from localazure.lists.compute import FAMILY_VCPUS, SPOT_VCPUS, TOTAL_VCPUS
from localazure.services import Services
from localazure.weather import granted_quotas

USER_SUBSCRIPTION = "UserSubscription"  # the mode of accounts whose nodes are in the subscription
POOLS = 100  # this and the next: Microsoft Learn, batch/batch-quota-limit, the most of the default ranges
ACTIVE_JOBS = 300
FAMILY_REACHED = "AccountVMSeriesCoreQuotaReached"
DEDICATED_REACHED = "AccountCoreQuotaReached"
SPOT_REACHED = "AccountLowPriorityCoreQuotaReached"


def shown(account: Resource, services: Services) -> Body:
    """The account's properties that tell its quotas, as they are now."""
    sold = batch_families.sold(account, services)
    later = [family for family in sold if not any(same_family(family, other) for other in FAMILIES)]
    families = [{"name": name, "coreQuota": _of_family(account, name, sold, services)} for name in (*FAMILIES, *later)]
    whole = {"activeJobAndJobScheduleQuota": ACTIVE_JOBS, "poolQuota": pool_quota(account, services)}
    if account.properties.get("poolAllocationMode") == USER_SUBSCRIPTION:
        return whole  # vCPUs are the subscription's: Microsoft.Batch 2024-07-01, BatchAccountProperties.dedicatedCoreQuota
    return {
        **whole,
        "dedicatedCoreQuota": _limit(account, "cores", TOTAL_VCPUS, services),
        "dedicatedCoreQuotaPerVMFamily": families,
        "dedicatedCoreQuotaPerVMFamilyEnforced": True,
        "lowPriorityCoreQuota": _limit(account, "lowPriorityCores", SPOT_VCPUS, services),
    }


def _of_family(account: Resource, name: str, sold: list[str], services: Services) -> int:
    """vCPUs of a family: none of one that has no size on sale."""
    family = next((one for one in sold if same_family(one, name)), "")
    return _limit(account, family, FAMILY_VCPUS, services) if family else 0


def pool_quota(account: Resource, services: Services) -> int:
    return _limit(account, "pools", POOLS, services)


def shortage(
    account: Resource, vm_size: str, dedicated: int, spot: int, others: list[tuple[str, int, int]], services: Services
) -> Body | None:
    """The error of a resize to so many nodes; None where they fit. A size whose vCPUs nobody knows always fits.

    `others`: of the account's other pools the size, and the dedicated and Spot nodes that they have or shall have.
    """
    size = SIZES.find(vm_size)
    if size is None or size.quota_vcpus is None:
        return None
    family = size.series.quota_family
    of_family = sum(nodes * _vcpus(name) for name, nodes, _ in others if _is_of(name, family))
    of_all = sum(nodes * _vcpus(name) for name, nodes, _ in others)
    of_spot = sum(nodes * _vcpus(name) for name, _, nodes in others)
    if dedicated and family and of_family + dedicated * size.quota_vcpus > _limit(account, family, FAMILY_VCPUS, services):
        return _error(FAMILY_REACHED, f"The specified account has reached VM series core quota for {family}")
    if dedicated and of_all + dedicated * size.quota_vcpus > _limit(account, "cores", TOTAL_VCPUS, services):
        return _error(DEDICATED_REACHED, "The specified account has reached core quota")
    if spot and of_spot + spot * size.quota_vcpus > _limit(account, "lowPriorityCores", SPOT_VCPUS, services):
        return _error(SPOT_REACHED, "The specified account has reached low priority core quota")
    return None


def pools_of(account_key: str, services: Services) -> list[Resource]:
    return services.store.of_type(azure_types.BATCH_POOL.arm_type, account_key)


def _limit(account: Resource, name: str, default: int, services: Services) -> int:
    """What is left of a quota of this name: a fault's limit without what the fault says is used."""
    default = granted_quotas.of_account(account, name, default, services)
    limit, used = services.deviations.quota("batch", account.location, name, default)
    return max(limit - used, 0)


def _vcpus(vm_size: str) -> int:
    size = SIZES.find(vm_size)
    return (size.quota_vcpus or 0) if size else 0


def _is_of(vm_size: str, family: str) -> bool:
    size = SIZES.find(vm_size)
    return size is not None and same_family(size.series.quota_family, family)


def _error(code: str, message: str) -> Body:
    return {"code": code, "message": message}
