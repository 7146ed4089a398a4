"""Rules of AKS for pools that depend on more than their body. The others: `localazure/evidence/refusals.tsv`.

Shared by pools that are separate resources and those that stand in a cluster's body.
"""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog.services.aks.systems import OS_SKUS
from azure_gpu.catalog.size_use import Service
from localazure import size_facts
from localazure.arm import refusals
from localazure.arm.store import Body
from localazure.evidence import refusals as table
from localazure.kinds import managed_cluster_versions as versions
from localazure.kinds.managed_cluster_refusals import not_allowed
from localazure.kinds.managed_cluster_requests import PROFILE

JUDGED_AS = "Microsoft.ContainerService/managedClusters/agentPoolProfiles"
# What of an existing pool never changes. Taints can be changed since (`az aks nodepool update --node-taints`).
FIXED = tuple(
    row.path
    for row in table().get(JUDGED_AS.lower(), ())
    if row.condition == "changed" and row.code == "PropertyChangeNotAllowed"
)


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
    versions.check_written(change.after["orchestratorVersion"], f"{PROFILE}.orchestratorVersion")
    before = _judged(change.name, change.before) if change.before is not None else None
    refusals.judge(JUDGED_AS, _judged(change.name, change.after), as_of, before=before, facts=_facts(change, as_of))
    _check_version(change, as_of)
    if change.before is not None and change.before["mode"] == "System" and change.after["mode"] != "System":
        refuse_without_system(change.others)


def _judged(name: str, pool: Body) -> Body:
    return {"scaleSetPriority": "Regular", **pool, "name": name}


def _facts(change: PoolChange, as_of: date) -> Body:
    pool = change.after
    windows = pool.get("osType") == "Windows"
    sku = OS_SKUS.get(str(pool.get("osSKU")))
    network = (change.cluster.get("properties") or {}).get("networkProfile") or {}
    return {
        **size_facts.of(pool["vmSize"], Service.AKS, change.location, as_of, windows=windows),
        "new": change.before is None,
        "system": sku.system if sku is not None and sku.system is not None else None,
        "load_balancer": network.get("loadBalancerSku"),
    }


def _check_version(change: PoolChange, as_of: date) -> None:
    """The version of the control plane is always there."""
    requested = change.after["orchestratorVersion"]
    if not any(running and versions.same(running, requested, as_of) for running in (change.running, change.control_plane)):
        versions.check_supported(requested, as_of, str(change.cluster["properties"].get("supportPlan") or ""))
    if change.running:
        versions.check_pool_upgrade(change.running, requested, as_of)
    versions.check_skew(versions.after(change.running, requested, as_of), change.control_plane)


def refuse_without_system(others: Sequence[Body]) -> None:
    """`others`: the pools that stay, among which the cluster's own pods have to run."""
    if not others:
        raise not_allowed("There has to be at least one agent pool.")
    if not any(each["mode"] == "System" for each in others):
        raise not_allowed("There has to be at least one system agent pool.")
