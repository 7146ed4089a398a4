"""Types of clusters and pools that the modules of this package share.

The ARM kinds make a `ClusterShape` and `PoolShape`s out of request bodies; control plane, pools and node agent read them.
They are kept as JSON by their names.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

ENTRA_SERVER_APP = "6dae42f8-4368-4678-94ff-3960e28e3630"  # the audience of tokens for every AKS cluster


class PoolShape(NamedTuple):
    """One agent pool: how many nodes, and what each is."""

    name: str
    vm_size: str
    count: int  # what is requested; the autoscaler's is `ClusterPools.nodes`
    autoscaling: bool = False
    min_count: int = 0
    max_count: int = 0
    mode: str = "User"  # or System
    spot: bool = False
    labels: Mapping[str, str] = {}
    taints: Sequence[Mapping[str, str]] = ()  # as Kubernetes has them: key, value, effect
    zones: Sequence[str] = ()
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
    admin_groups: Sequence[str] = ()
    workload_identity: bool = False
    autoscaler: Mapping[str, str] = {}  # autoScalerProfile, as ARM spells it
