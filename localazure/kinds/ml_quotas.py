"""Azure Machine Learning's own vCPU quotas, as a compute cluster meets them. Faults on purpose set others (service `ml`)."""

from azure_gpu.catalog.sizes import SIZES
from localazure.arm.errors import ArmError, refused
from localazure.lists.compute import FAMILY_VCPUS, SPOT_VCPUS, TOTAL_VCPUS
from localazure.services import Services


def shortage(vm_size: str, least_nodes: int, region: str, services: Services, *, low_priority: bool = False) -> ArmError | None:
    """What speaks against a cluster that keeps so many nodes, and against one that may have a single one."""
    size = SIZES.find(vm_size)
    if size is None or size.quota_vcpus is None:
        return None
    family = size.series.quota_family
    if low_priority:
        quotas = [("low priority vCPU", "lowPriorityCores", SPOT_VCPUS)]
    else:
        quotas = [*([(f"{family} vCPU", family, FAMILY_VCPUS)] if family else []), ("total vCPU", "cores", TOTAL_VCPUS)]
    for what, name, default in quotas:
        limit, used = services.deviations.quota("ml", region, name, default)
        left = max(limit - used, 0)
        if left < size.quota_vcpus:
            return refused("ml: quota of a node", what=what, left=left, vcpus=size.quota_vcpus)
        kept = least_nodes * size.quota_vcpus
        if left < kept:
            return refused("ml: quota of nodes", what=what, left=left, nodes=least_nodes, vcpus=kept)
    return None
