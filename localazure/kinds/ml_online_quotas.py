"""vCPUs that managed online deployments use of a family's quota in a region, and whether more of them fit.

The service counts a fifth more instances than a deployment has, for upgrades; some sizes are exempt. The numbers are generous, as
all quotas are here; faults on purpose (service `ml`) set others.
"""

from azure_gpu.catalog.services.machine_learning import endpoints
from azure_gpu.catalog.services.machine_learning.deployments import MANAGED
from azure_gpu.catalog.sizes.model import same_family
from azure_gpu.formats import azure_types
from localazure.arm.store import Resource
from localazure.kinds import ml_online_refusals as refusals
from localazure.lists.compute import FAMILY_VCPUS
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION


def used(region: str, family: str, services: Services, *, without: str = "") -> int:
    """What the deployments of a region hold of a family. `without`: the key of one that isn't counted."""
    found = 0
    for each in services.store.of_type(azure_types.ML_ONLINE_DEPLOYMENT.arm_type):
        if each.location != region or each.key == without or each.properties.get("endpointComputeType") != MANAGED:
            continue
        name, vcpus = _of(each)
        if vcpus and same_family(name, family):
            found += vcpus
    return found


def check(deployment_key: str, size: str, region: str, instances: int, before: Resource | None, services: Services) -> None:
    """ArmError where the family's quota doesn't allow so many instances. A size whose vCPUs nobody knows always fits."""
    family, vcpus = endpoints.quota_of(size, instances)
    if not family or vcpus is None:
        return
    limit, by_others = services.deviations.quota("ml", region, family, FAMILY_VCPUS)
    counted = by_others + used(region, family, services, without=deployment_key)
    own = (_of(before)[1] or 0) if before is not None else 0
    if counted + vcpus > limit and vcpus > own:
        raise refusals.quota(size, SUBSCRIPTION, counted + own, limit, vcpus - own)


def _of(deployment: Resource) -> tuple[str, int | None]:
    capacity = int((deployment.body.get("sku") or {}).get("capacity") or 1)
    return endpoints.quota_of(str(deployment.properties.get("instanceType") or ""), capacity)
