"""Types of clusters and pools that the modules of this package share.

The ARM kinds make a `ClusterShape` and `PoolShape`s out of request bodies; control plane, pools and node agent read them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

ENTRA_SERVER_APP = "6dae42f8-4368-4678-94ff-3960e28e3630"  # the audience of tokens for every AKS cluster


class Taint(NamedTuple):
    """A taint as Kubernetes has it."""

    key: str
    value: str
    effect: str  # NoSchedule, PreferNoSchedule, NoExecute


class PoolShape(NamedTuple):
    """One agent pool: how many nodes, and what each is."""

    name: str
    vm_size: str
    count: int  # what is requested; the autoscaler's is in `Pools.status`
    autoscaling: bool = False
    min_count: int = 0
    max_count: int = 0
    mode: str = "User"  # or System
    spot: bool = False
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    zones: tuple[str, ...] = ()
    os_type: str = "Linux"
    os_sku: str = "Ubuntu"
    gpu_driver: bool = True  # False: gpuProfile.driver is None
    mig_profile: str = ""  # MIG1g .. MIG7g; empty: whole GPUs
    max_pods: int = 250
    kubernetes_version: str = ""
    eviction_policy: str = "Delete"  # of Spot; or Deallocate
    os_disk_gb: int = 128
    node_image: str = ""  # such as AKSUbuntu-2404gen2containerd-202608.14.0


class ClusterShape(NamedTuple):
    """One managed cluster, without its pools."""

    key: str  # the ARM id, in lower case
    name: str
    resource_group: str
    node_resource_group: str
    location: str
    kubernetes_version: str  # what AKS shows; the control plane here has one version
    tenant_id: str
    local_accounts: bool
    entra: bool  # tokens of Entra are taken
    azure_rbac: bool  # and role assignments on the cluster say what their owners may do
    admin_groups: tuple[str, ...] = ()
    workload_identity: bool = False
    autoscaler: Mapping[str, str] = {}  # autoScalerProfile, as ARM spells it


def stored_pool(pool: PoolShape) -> dict[str, Any]:
    """A pool as it is kept."""
    taints = [one._asdict() for one in pool.taints]
    return {**pool._asdict(), "labels": dict(pool.labels), "zones": list(pool.zones), "taints": taints}


def as_pool(stored: Mapping[str, Any]) -> PoolShape:
    """A pool as it was kept."""
    whole: dict[str, Any] = {**stored, "taints": tuple(Taint(**one) for one in stored["taints"]), "zones": tuple(stored["zones"])}
    return PoolShape(**whole)


def stored_cluster(cluster: ClusterShape) -> dict[str, Any]:
    """A cluster as it is kept."""
    return {**cluster._asdict(), "admin_groups": list(cluster.admin_groups), "autoscaler": dict(cluster.autoscaler)}


def as_cluster(stored: Mapping[str, Any]) -> ClusterShape:
    """A cluster as it was kept."""
    whole: dict[str, Any] = {**stored, "admin_groups": tuple(stored["admin_groups"])}
    return ClusterShape(**whole)
