"""Quotas of vCPUs that a subscription's virtual machines count against, and whether one more fits.

Numbers as `lists/compute` tells them; faults on purpose set others (service `compute`). Machines count whether or not they are
allocated: Microsoft Learn, virtual-machines/quotas ("both allocated
and deallocated"). Nodes of AKS and Batch are counted by those.
"""

from azure_gpu.catalog.sizes.model import same_family
from azure_gpu.formats import azure_types
from localazure.arm.errors import refused
from localazure.arm.store import Body
from localazure.kubernetes.node_templates import quota_family, quota_vcpus
from localazure.lists.compute import FAMILY_VCPUS, SPOT_VCPUS, TOTAL_VCPUS
from localazure.services import Services

SPOT, ALL = "lowPriorityCores", "cores"


def check(properties: Body, region: str, but: str, services: Services) -> None:
    """ArmError for a machine with these properties that doesn't fit. `but`: the key of the machine itself."""
    size, spot = size_of(properties), is_spot(properties)
    requested = quota_vcpus(size)
    family = quota_family(size)
    used = {SPOT: 0, ALL: 0}
    of_family = 0
    for other in services.store.of_type(azure_types.VIRTUAL_MACHINE.arm_type):
        if other.key == but or other.location != region:
            continue
        vcpus = quota_vcpus(size_of(other.properties))
        used[SPOT if is_spot(other.properties) else ALL] += vcpus
        if not is_spot(other.properties) and same_family(quota_family(size_of(other.properties)), family):
            of_family += vcpus
    if spot:
        rows = [(SPOT, "LowPriorityCores", used[SPOT], SPOT_VCPUS)]
    else:
        rows = [(family, f"{family} Cores", of_family, FAMILY_VCPUS)] if family else []
        rows.append((ALL, "Total Regional Cores", used[ALL], TOTAL_VCPUS))
    for name, shown, taken, default in rows:
        limit, elsewhere = services.deviations.quota("compute", region, name, default)
        if requested > limit - elsewhere - taken:
            used_now = elsewhere + taken
            words = {"name": shown, "region": region, "limit": limit, "used": used_now, "requested": requested}
            raise refused("vm: over quota", **words, needed=used_now + requested)


def size_of(properties: Body) -> str:
    return str((properties.get("hardwareProfile") or {}).get("vmSize") or "")


def is_spot(properties: Body) -> bool:
    return properties.get("priority") in ("Spot", "Low")
