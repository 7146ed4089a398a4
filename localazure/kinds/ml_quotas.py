"""Azure Machine Learning's own vCPU quotas, as a compute cluster meets them. Faults on purpose set others (service `ml`).

Sentences were read in dotnet/machinelearning-modelbuilder issue 2140, Azure/mlops-v2 issue 81 (with the code BadRequest) and
MicrosoftDocs/mslearn-aml-labs issue 8.
"""

from azure_gpu.catalog.sizes import SIZES
from localazure.arm.errors import ArmError
from localazure.kinds.ml_kind import bad_request
from localazure.lists.compute import FAMILY_VCPUS, SPOT_VCPUS, TOTAL_VCPUS
from localazure.services import Services

_MORE = (
    "Talk to your Subscription Admin or refer to "
    "https://docs.microsoft.com/azure/machine-learning/how-to-manage-quotas#request-quota-increases to increase the {what} quota"
)


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
            return bad_request(
                f"The specified subscription has a {what} quota of {left} and cannot accomodate for at least 1 requested managed "
                f"compute node which maps to {size.quota_vcpus} vCPUs. {_MORE.format(what=what)}"
            )
        kept = least_nodes * size.quota_vcpus
        if left < kept:
            return bad_request(
                f"The specified subscription has a {what} quota of {left} and is less than the requested compute training "
                f"cluster and/or compute instance's min nodes of {least_nodes} which maps to {kept} vCPUs. "
                f"{_MORE.format(what=what)}"
            )
    return None
