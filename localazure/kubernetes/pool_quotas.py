"""The vCPUs that a subscription may use for nodes of clusters, and whether more nodes fit.

The numbers are those of Microsoft.Compute, whose machines the nodes are; faults on purpose set others (service `compute`). Code
and sentence are those that users of `az aks nodepool add` report.
"""

from collections.abc import Iterable

from azure_gpu.catalog.sizes.model import same_family
from localazure.arm.errors import ArmError
from localazure.kubernetes import node_templates as templates
from localazure.kubernetes.model import PoolShape
from localazure.lists.compute import FAMILY_VCPUS, SPOT_VCPUS, TOTAL_VCPUS
from localazure.lists.deviations import Deviations

CODE = "ErrCode_InsufficientVCPUQuota"
SPOT, ALL = "lowPriorityCores", "cores"


def shortage(
    pool: PoolShape, more: int, region: str, others: Iterable[tuple[PoolShape, int]], deviations: Deviations
) -> ArmError | None:
    """The error of `more` nodes for the pool; None where they fit. `others`: every pool of the region with its nodes."""
    if more <= 0:
        return None
    requested = more * templates.quota_vcpus(pool.vm_size)
    used = {SPOT: 0, ALL: 0}
    family, of_family = templates.quota_family(pool.vm_size), 0
    for shape, nodes in others:
        vcpus = nodes * templates.quota_vcpus(shape.vm_size)
        used[SPOT if shape.spot else ALL] += vcpus
        if not shape.spot and same_family(templates.quota_family(shape.vm_size), family):
            of_family += vcpus
    if pool.spot:
        quotas = [(SPOT, used[SPOT], SPOT_VCPUS)]
    else:
        quotas = [(family, of_family, FAMILY_VCPUS)] if family else []
        quotas.append((ALL, used[ALL], TOTAL_VCPUS))
    for name, taken, default in quotas:
        limit, elsewhere = deviations.quota("compute", region, name, default)
        left = max(0, limit - elsewhere - taken)
        if requested > left:
            return ArmError(
                400,
                CODE,
                f"Insufficient vcpu quota requested {requested}, remaining {left} for family {name} for region {region}.",
            )
    return None
