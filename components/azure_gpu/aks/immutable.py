"""Properties that AKS can't change on an existing cluster or pool, and the names of pools.

The `REPLACING_*` paths tell the engine to create a new resource. A pool's name in Azure holds a hash of these properties if its
replacement is created beside it.
"""

import hashlib
import json
from collections.abc import Mapping

from azure_gpu.aks.args import PoolReplace
from azure_gpu.catalog import names
from azure_gpu.formats import azure_types

# Sources: Microsoft Learn, articles/aks/use-nvidia-gpu.md (2026-07-02) for size and driver, gpu-multi-instance.md (2026-05-22)
# for the MIG profile, spot-node-pool.md (2025-04-06) for Spot, use-system-pools.md (2026-04-30) for the number of pods, among
# "various immutable settings"; hashicorp/terraform-provider-azurerm makes a new pool for another disk, zone, subnet or operating
# system. Taints aren't among it: MicrosoftDocs/azure-aks-docs, articles/aks/use-node-taints.md (2026-08-21).
REPLACING_POOL = [
    "availabilityZones",
    "gpuInstanceProfile",
    "gpuProfile",
    "maxPods",
    "osDiskSizeGB",
    "osSKU",
    "osType",
    "scaleSetEvictionPolicy",
    "scaleSetPriority",
    "spotMaxPrice",
    "vmSize",
    "vnetSubnetID",
]
# Source: azurerm_kubernetes_cluster of the same provider, which makes a new cluster for these. It does so for another size of the
# system pool too; here AKS rejects it, since such a change must not replace a cluster with everything on it.
REPLACING_CLUSTER = [
    "agentPoolProfiles[0].vnetSubnetID",
    "apiServerAccessProfile.enablePrivateCluster",
    "apiServerAccessProfile.privateDNSZone",
    "dnsPrefix",
    "location",
    "networkProfile.dnsServiceIP",
    "networkProfile.networkPlugin",
    "networkProfile.networkPluginMode",
    "networkProfile.podCidr",
    "networkProfile.serviceCidr",
    "nodeResourceGroup",
]

LONGEST_POOL_NAME = names.RULES[azure_types.AGENT_POOL.arm_type].longest
HASH_LENGTH = 4  # of a pool's name: two forms collide with a chance of 1 in 65,536; Azure then rejects the second
LONGEST_SIDE_BY_SIDE = LONGEST_POOL_NAME - HASH_LENGTH


def default_replace(pool: str) -> PoolReplace:
    """side-by-side if the name leaves room for the hash."""
    return "side-by-side" if len(pool) <= LONGEST_SIDE_BY_SIDE else "drain-first"


def pool_name(pool: str, replace: PoolReplace, kept: Mapping[str, object], subnet_id: str) -> str:
    """The agent pool's name in Azure; `kept`: properties that AKS can't change, by the paths above."""
    return f"{pool}{digest(kept, subnet_id)[:HASH_LENGTH]}" if replace == "side-by-side" else pool


def digest(kept: Mapping[str, object], subnet_id: str) -> str:
    """A hash of these properties only. Properties with AKS's own defaults are left out."""
    properties = {key: value for key, value in {**kept, "vnetSubnetID": subnet_id}.items() if value}
    return hashlib.sha256(json.dumps(properties, sort_keys=True).encode()).hexdigest()
