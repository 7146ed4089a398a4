"""Checks the account's vCPU quotas and the region's capacity for further nodes of a pool.

The service stops at the quota with a resize error, and keeps the nodes that it got.
"""

from typing import NamedTuple

from localazure.arm.store import Body
from localazure.batch import failures
from localazure.kinds import batch_quotas
from localazure.services import Services

DEDICATED, SPOT = "dedicated", "low priority"


class PoolUsage(NamedTuple):
    """What one pool has."""

    vm_size: str
    dedicated: int
    spot: int


def granted(
    account: str, pool: PoolUsage, others: list[PoolUsage], requested: int, *, dedicated: bool, location: str, services: Services
) -> tuple[int, Body | None]:
    """How many of `wanted` further nodes of a kind the pool gets. `others`: the account's other pools."""
    if services.deviations.lacks_capacity(location):
        return 0, failures.resize("AllocationFailed", DEDICATED if dedicated else SPOT)
    resource = services.store.get(account)
    if resource is None:
        return requested, None
    error: Body | None = None
    for count in range(requested, 0, -1):
        sought = (pool.dedicated + count, 0) if dedicated else (0, pool.spot + count)
        has = [(one.vm_size, one.dedicated, one.spot) for one in others]
        found = batch_quotas.shortage(resource, pool.vm_size, *sought, has, services)
        if found is None:
            return count, error
        error = error or found
    return 0, error
