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
from localazure.arm.errors import refused
from localazure.arm.store import Body, Resource
from localazure.evidence import refusals as table
from localazure.kinds import managed_cluster_versions as versions
from localazure.kinds.managed_cluster_requests import version_of

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
    before: Resource | None  # None for a new pool
    after: Body  # its whole properties
    cluster: Body  # the whole body of its cluster
    others: Sequence[Body]  # the properties of the cluster's other pools
    control_plane: str  # its version, with three numbers


def check(change: PoolChange, as_of: date) -> None:
    """ArmError for the first thing that AKS wouldn't take."""
    was = change.before.properties if change.before is not None else None
    before = _judged(change.name, was) if was is not None else None
    refusals.judge(JUDGED_AS, _judged(change.name, change.after), as_of, before=before, facts=_facts(change, as_of))
    if was is not None and was["mode"] == "System" and change.after["mode"] != "System":
        refuse_without_system(change.others)


def _judged(name: str, pool: Body) -> Body:
    return {"scaleSetPriority": "Regular", **pool, "name": name}


def _facts(change: PoolChange, as_of: date) -> Body:
    pool = change.after
    windows = pool.get("osType") == "Windows"
    sku = OS_SKUS.get(str(pool.get("osSKU")))
    running = version_of(change.before, as_of) if change.before is not None else ""
    plan = str(change.cluster["properties"].get("supportPlan") or "")
    network = (change.cluster.get("properties") or {}).get("networkProfile") or {}
    return {
        **size_facts.of(pool["vmSize"], Service.AKS, change.cluster["location"], as_of, windows=windows),
        "version": versions.facts(pool["orchestratorVersion"], running, as_of, plan, change.control_plane),
        "new": change.before is None,
        "system": sku.system if sku is not None and sku.system is not None else None,
        "load_balancer": network.get("loadBalancerSku"),
    }


def refuse_without_system(others: Sequence[Body]) -> None:
    """`others`: the pools that stay, among which the cluster's own pods have to run."""
    if not others:
        raise refused("aks: no pool")
    if not any(each["mode"] == "System" for each in others):
        raise refused("aks: no system pool")
