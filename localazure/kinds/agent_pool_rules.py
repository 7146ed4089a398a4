"""Rules of AKS for pools: the catalog's facts at the date, numbers that don't fit, and what can't change.

Shared by pools that are separate resources and those that stand in a cluster's body. Codes and sentences:
`managed_cluster_refusals`.
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


class PoolChange(NamedTuple):
    """A new or changed pool, with what its validation depends on."""

    name: str
    before: Body | None  # its whole properties; None for a new pool
    after: Body
    cluster: Body  # the whole body of its cluster
    location: str
    others: Sequence[Body]  # the properties of the cluster's other pools
    control_plane: str  # its version, with three numbers
    running: str = ""  # the version of the pool's nodes, with three numbers; empty for a new pool


def check(change: PoolChange, as_of: date) -> None:
    """ArmError for the first thing that AKS wouldn't take."""
    _check_imitated(change.after)
    _check_forms(change.after)
    if change.before is not None:
        _check_unchanged(change.before, change.after)
    _check_version(change, as_of)
    _check_numbers(change.after)
    _check_system(change)
    if change.before is None:
        _check_size(change, as_of)
    found = _of_catalog(change, as_of)
    if found:
        raise first([_refusal(problem) for problem in found])
    if system_of(change.after) is OperatingSystem.WINDOWS:
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
    was, requested = before.get("scaleSetPriority") or "Regular", after.get("scaleSetPriority") or "Regular"
    if was != requested:
        raise bad_request(f"ScaleSetPriority is immutable. Provided value is {requested}, Please use current value {was}.")
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


def _check_version(change: PoolChange, as_of: date) -> None:
    """The version of the control plane is always there."""
    requested = change.after["orchestratorVersion"]
    if not any(running and versions.same(running, requested, as_of) for running in (change.running, change.control_plane)):
        versions.check_supported(requested, as_of, str(change.cluster["properties"].get("supportPlan") or ""))
    if change.running:
        versions.check_pool_upgrade(change.running, requested, as_of)
    versions.check_skew(versions.after(change.running, requested, as_of), change.control_plane)


def _check_numbers(pool: Body) -> None:
    count = int(pool["count"])
    if pool.get("enableAutoScaling"):
        for name in ("minCount", "maxCount"):
            if pool.get(name) is None:
                raise invalid(f"{PROFILE}.{name}", "the autoscaler requires it")
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


def _check_system(change: PoolChange) -> None:
    """Somewhere the cluster's own pods have to run."""
    if change.before is None or change.before["mode"] != "System" or change.after["mode"] == "System":
        return
    refuse_without_system(change.others)


def refuse_without_system(others: Sequence[Body]) -> None:
    """`others`: the pools that stay."""
    if not others:
        raise not_allowed("There has to be at least one agent pool.")
    if not any(each["mode"] == "System" for each in others):
        raise not_allowed("There has to be at least one system agent pool.")


def _check_size(change: PoolChange, as_of: date) -> None:
    name = change.after["vmSize"]
    if SIZES.find(name) is None:
        if not name.lower().startswith("standard_") or not is_size_name(name):
            raise size_not_allowed(name, change.location, "invalid size name")
        return
    use = SizeUse(
        service=Service.AKS,
        size=name,
        region=change.location,
        path="vmSize",
        region_path="location",
        nodes=max(int(change.after["count"]), 1),
        spot=change.after.get("scaleSetPriority") == "Spot",
        operating_system=system_of(change.after),
    )
    found = errors(offers.check(use, as_of, prices=packaged()))
    if found:
        raise size_not_allowed(name, change.location, reason_of(found[0]))


def _of_catalog(change: PoolChange, as_of: date) -> list[Problem]:
    """The catalog's errors; of an existing pool those that it hadn't before."""
    found = errors(catalog_pools.check(pool_request(change.name, change.after, change.cluster), as_of))
    if change.before is None:
        return found
    known = errors(catalog_pools.check(pool_request(change.name, change.before, change.cluster), as_of))
    return [problem for problem in found if problem not in known]


def _refusal(problem: Problem) -> ArmError:
    match problem.path:
        case "agentPoolProfile.upgrade.maxSurge":
            return invalid(problem.path, "Spot pools can't set max surge")
        case "agentPoolProfile.name" | "agentPoolProfile.count":
            return invalid(problem.path)
        case _:
            return invalid(problem.path, reason_of(problem))
