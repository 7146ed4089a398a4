"""Defaults of AKS for a pool, and what of an existing pool stays when an update doesn't name it.

Defaults: Azure Service Operator's session Test_AKS_ManagedCluster_20250801_CRUD (2026-01-24); Microsoft Learn, REST reference of
Microsoft.ContainerService 2025-09-01, "Agent Pools - Create Or Update"; articles/aks/spot-node-pool.md for Spot machines.
"""

from datetime import date

from azure_gpu.catalog import spot_price
from azure_gpu.catalog.services.aks import pools
from azure_gpu.catalog.services.aks.systems import default_sku
from azure_gpu.catalog.sizes import SIZES
from localazure.arm.kind import merged
from localazure.arm.store import Body
from localazure.kinds import managed_cluster_versions as versions
from localazure.kinds.agent_pool_rules import FIXED
from localazure.kinds.managed_cluster_requests import system_of

DEFAULT_SIZE = "Standard_D4s_v5"  # AKS chooses by what the region has; this is the smallest that its page asks of a system pool
MAX_PODS = {"overlay": 250, "kubenet": 110, "azure": 30}  # Microsoft Learn, articles/aks/azure-cni-overlay.md
# What keeps its value where an update doesn't name it: what can't change, what AKS decided itself, and the number of nodes.
KEPT = (
    *FIXED,
    "count",
    "enableFIPS",
    "mode",
    "orchestratorVersion",
    "osSKU",
    "scaleSetPriority",
    "workloadRuntime",
)


def completed(given: Body, before: Body | None, cluster: Body, as_of: date, *, starts_with_one: bool = False) -> Body:
    """The pool's whole properties. `before`: as stored; None for a new pool. `cluster`: the cluster's whole properties.
    `starts_with_one`: a pool without a number of nodes has one, whatever its autoscaler may have."""
    kept = {name: before[name] for name in KEPT if before and name in before}
    whole = merged(kept, without_empty(given))
    whole = merged(_defaults(whole, cluster, as_of), {**({"count": 1} if starts_with_one else {}), **whole})
    if whole.get("scaleSetPriority") == "Spot":
        whole = merged({"scaleSetEvictionPolicy": pools.EVICTION_POLICIES[0], "spotMaxPrice": spot_price.ANY_PRICE}, whole)
        whole["nodeLabels"] = {**(whole.get("nodeLabels") or {}), pools.SPOT_LABEL[0]: pools.SPOT_LABEL[1]}
        taints = list(whole.get("nodeTaints") or [])
        whole["nodeTaints"] = taints if pools.SPOT_TAINT in taints else [*taints, pools.SPOT_TAINT]
    return whole


def without_empty(given: Body) -> Body:
    """Without empty texts and a disk of 0 GB, which the Azure CLI sends for what its user doesn't say.

    The disk: Azure CLI's session test_aks_nodepool_stop_and_start (2023-06-29), where AKS shows 128."""
    return {name: value for name, value in given.items() if value != "" and (name, value) != ("osDiskSizeGB", 0)}


def _defaults(pool: Body, cluster: Body, as_of: date) -> Body:
    version = str(pool.get("orchestratorVersion") or cluster["kubernetesVersion"])
    defaults: Body = {
        "count": int(pool.get("minCount") or 0) if pool.get("enableAutoScaling") else 1,
        "enableAutoScaling": False,
        "enableEncryptionAtHost": False,
        "enableFIPS": False,
        "enableNodePublicIP": False,
        "enableUltraSSD": False,
        "kubeletDiskType": "OS",
        "maxPods": MAX_PODS[_network(cluster)],
        "mode": "User",
        "orchestratorVersion": version,
        "osDiskSizeGB": 128,
        "osDiskType": "Managed",
        "osSKU": default_sku(system_of(pool), versions.full(version, as_of)),
        "osType": "Linux",
        "powerState": {"code": "Running"},
        "scaleDownMode": "Delete",
        "securityProfile": {"enableSecureBoot": False, "enableVTPM": False, "sshAccess": "LocalUser"},
        "type": "VirtualMachineScaleSets",
        "vmSize": DEFAULT_SIZE,
    }
    if pool.get("scaleSetPriority") != "Spot":
        defaults["upgradeSettings"] = {"maxSurge": "10%", "maxUnavailable": "0"}
    size = SIZES.find(str(pool.get("vmSize") or DEFAULT_SIZE))
    if size is not None and size.gpu is not None:
        defaults["gpuProfile"] = {"driver": "Install"}
    return defaults


def _network(cluster: Body) -> str:
    profile = cluster.get("networkProfile") or {}
    if profile.get("networkPlugin") == "kubenet":
        return "kubenet"
    return "overlay" if str(profile.get("networkPluginMode") or "").lower() == "overlay" else "azure"
