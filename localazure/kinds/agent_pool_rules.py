"""What AKS refuses of a pool: what the catalog knows on that day, numbers that don't fit, and what can't change.

In: a pool's whole properties, before and after, and its cluster. Out: nothing, or ArmError. Shared by pools that are resources of
their own and those that stand in a cluster's body. Codes and sentences: `managed_cluster_refusals`.
"""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import offers
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.services.aks import pools as catalog_pools
from azure_gpu.catalog.services.aks.spot import TAINT as SPOT_TAINT
from azure_gpu.catalog.services.aks.system_pools import DEDICATED_TAINT, is_size_name
from azure_gpu.catalog.size_use import OperatingSystem, Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.store import Body
from localazure.kinds import managed_cluster_versions as versions
from localazure.kinds.managed_cluster_refusals import (
    bad_request,
    change_not_allowed,
    first,
    invalid,
    not_allowed,
    reason_of,
    restricted_taint,
    size_not_allowed,
)
from localazure.kinds.managed_cluster_requests import PROFILE, pool_request, system_of, taint

MOST_NODES = 1000
# What of an existing pool never changes: Microsoft Learn, REST reference of 2025-09-01 ("May not be changed after creation"), and
# articles/aks/manage-node-pools.md. Taints can be changed since (`az aks nodepool update --node-taints`).
FIXED = (
    "vmSize",
    "availabilityZones",
    "enableEncryptionAtHost",
    "enableNodePublicIP",
    "enableUltraSSD",
    "gpuInstanceProfile",
    "gpuProfile",
    "kubeletDiskType",
    "maxPods",
    "nodePublicIPPrefixID",
    "osDiskSizeGB",
    "osDiskType",
    "osType",
    "podSubnetID",
    "proximityPlacementGroupID",
    "scaleSetEvictionPolicy",
    "spotMaxPrice",
    "type",
    "vnetSubnetID",
)

# What may keep pods off the nodes of a system pool: the taint for AKS's own pods. Spot's is refused with the Spot pool itself.
SYSTEM_TAINTS = frozenset({DEDICATED_TAINT.partition("=")[0], SPOT_TAINT.partition("=")[0]})


class Asked(NamedTuple):
    """One pool on its way, and what it is judged beside."""

    name: str
    before: Body | None  # its whole properties; None for a new pool
    after: Body
    cluster: Body  # the whole body of its cluster
    location: str
    others: Sequence[Body]  # the properties of the cluster's other pools
    control_plane: str  # its version, with three numbers
    running: str = ""  # the version of the pool's nodes, with three numbers; empty for a new pool


def check(asked: Asked, as_of: date) -> None:
    """ArmError for the first thing that AKS wouldn't take."""
    _check_imitated(asked.after)
    _check_forms(asked.after)
    if asked.before is not None:
        _check_unchanged(asked.before, asked.after)
    _check_version(asked, as_of)
    _check_numbers(asked.after)
    _check_system(asked)
    if asked.before is None:
        _check_size(asked, as_of)
    found = _of_catalog(asked, as_of)
    if found:
        raise first([_refusal(problem) for problem in found])
    if system_of(asked.after) is OperatingSystem.WINDOWS:
        raise not_implemented("Windows nodes of AKS")


def _check_imitated(pool: Body) -> None:
    if pool.get("type") != "VirtualMachineScaleSets":
        raise not_implemented(f"agent pools of the type '{pool.get('type')}'")
    if pool.get("mode") not in ("System", "User"):
        raise not_implemented(f"agent pools with the mode '{pool.get('mode')}'")
    if pool.get("workloadRuntime") not in (None, "OCIContainer"):
        raise not_implemented(f"the workload runtime '{pool.get('workloadRuntime')}'")


def _check_forms(pool: Body) -> None:
    for text in pool.get("nodeTaints") or []:
        try:
            taint(text)
        except ValueError:
            raise invalid(f"{PROFILE}.nodeTaints", f"'{text}' isn't written as key=value:Effect") from None
        if pool["mode"] == "System" and taint(text).effect != "PreferNoSchedule" and taint(text).key not in SYSTEM_TAINTS:
            raise restricted_taint(text, f"{PROFILE}.nodeTaints")
    versions.check_written(pool["orchestratorVersion"], f"{PROFILE}.orchestratorVersion")
    if (pool.get("powerState") or {}).get("code") not in (None, "Running", "Stopped"):
        raise invalid(f"{PROFILE}.powerState.code", "it is Running or Stopped")


def _check_unchanged(before: Body, after: Body) -> None:
    was, wanted = before.get("scaleSetPriority") or "Regular", after.get("scaleSetPriority") or "Regular"
    if was != wanted:
        raise bad_request(f"ScaleSetPriority is immutable. Provided value is {wanted}, Please use current value {was}.")
    for name in FIXED:
        if not _same(before.get(name), after.get(name)):
            raise change_not_allowed(f"{PROFILE}.{name}")


def _same(one: object, other: object) -> bool:
    """Names and ids are the same in any letter case, and zones in any order."""
    if isinstance(one, str) and isinstance(other, str):
        return one.lower() == other.lower()
    if isinstance(one, list) and isinstance(other, list):
        return sorted(str(each) for each in one) == sorted(str(each) for each in other)
    return one == other or (not one and not other)


def _check_version(asked: Asked, as_of: date) -> None:
    """The version of the control plane is always there."""
    wanted = asked.after["orchestratorVersion"]
    if not any(running and versions.same(running, wanted, as_of) for running in (asked.running, asked.control_plane)):
        versions.check_supported(wanted, as_of, str(asked.cluster["properties"].get("supportPlan") or ""))
    if asked.running:
        versions.check_pool_upgrade(asked.running, wanted, as_of)
    versions.check_skew(versions.after(asked.running, wanted, as_of), asked.control_plane)


def _check_numbers(pool: Body) -> None:
    count = int(pool["count"])
    if pool.get("enableAutoScaling"):
        for name in ("minCount", "maxCount"):
            if pool.get(name) is None:
                raise invalid(f"{PROFILE}.{name}", "the autoscaler needs it")
        low, high = int(pool["minCount"]), int(pool["maxCount"])
        least = 1 if pool["mode"] == "System" else 0
        if low >= least and high >= low and not low <= count <= high:
            raise ArmError(
                400,
                "InvalidParameter",
                f"agentPoolProfile.count was {count}. It must be greater or equal to minCount:{low} and less than or equal to "
                f"maxCount:{high}.",
                target=f"{PROFILE}.count",
            )
        if high > MOST_NODES:
            raise invalid(f"{PROFILE}.maxCount")
    if count > MOST_NODES:
        raise invalid(f"{PROFILE}.count")


def _check_system(asked: Asked) -> None:
    """Somewhere the cluster's own pods have to run."""
    if asked.before is None or asked.before["mode"] != "System" or asked.after["mode"] == "System":
        return
    refuse_without_system(asked.others)


def refuse_without_system(others: Sequence[Body]) -> None:
    """`others`: the pools that stay."""
    if not others:
        raise not_allowed("There has to be at least one agent pool.")
    if not any(each["mode"] == "System" for each in others):
        raise not_allowed("There has to be at least one system agent pool.")


def _check_size(asked: Asked, as_of: date) -> None:
    name = asked.after["vmSize"]
    if SIZES.find(name) is None:
        if not name.lower().startswith("standard_") or not is_size_name(name):
            raise size_not_allowed(name, asked.location, "invalid size name")
        return
    use = SizeUse(
        service=Service.AKS,
        size=name,
        region=asked.location,
        path="vmSize",
        region_path="location",
        nodes=max(int(asked.after["count"]), 1),
        spot=asked.after.get("scaleSetPriority") == "Spot",
        operating_system=system_of(asked.after),
    )
    found = errors(offers.check(use, as_of, prices=packaged()))
    if found:
        raise size_not_allowed(name, asked.location, reason_of(found[0]))


def _of_catalog(asked: Asked, as_of: date) -> list[Problem]:
    """The catalog's errors; of an existing pool those that it hadn't before."""
    found = errors(catalog_pools.check(pool_request(asked.name, asked.after, asked.cluster), as_of))
    if asked.before is None:
        return found
    known = errors(catalog_pools.check(pool_request(asked.name, asked.before, asked.cluster), as_of))
    return [problem for problem in found if problem not in known]


def _refusal(problem: Problem) -> ArmError:
    match problem.path:
        case "agentPoolProfile.upgrade.maxSurge":
            return invalid(problem.path, "Spot pools can't set max surge")
        case "agentPoolProfile.name" | "agentPoolProfile.count":
            return invalid(problem.path)
        case _:
            return invalid(problem.path, reason_of(problem))
