"""A pool with the defaults of AKS, rows of `localazure/evidence/types.toml`, and what of an existing pool stays."""

from datetime import date

from azure_gpu.catalog.services.aks import pools
from azure_gpu.catalog.services.aks.systems import default_sku
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types
from azure_gpu.formats.conditions import Judged
from localazure import evidence
from localazure.arm.kind import defaults_of, merged
from localazure.arm.store import Body
from localazure.kinds import managed_cluster_versions as versions
from localazure.kinds.agent_pool_rules import FIXED
from localazure.kinds.managed_cluster_requests import system_of

DEFAULT_SIZE = "Standard_D4s_v5"  # AKS chooses by what the region has; this is the smallest that its page asks of a system pool
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
    given = without_empty(given)
    kept = {name: before[name] for name in KEPT if before and name in before}
    facts = _facts(merged(kept, given), cluster, as_of, starts_with_one=starts_with_one)
    judged, row = Judged({"properties": given}, None, facts), evidence.types()[azure_types.AGENT_POOL.arm_type]
    whole = merged(defaults_of(row, judged, {"properties": kept}, facts.__getitem__)["properties"], given)
    if whole.get("scaleSetPriority") == "Spot":
        whole["nodeLabels"] = {**(whole.get("nodeLabels") or {}), pools.SPOT_LABEL[0]: pools.SPOT_LABEL[1]}
        taints = list(whole.get("nodeTaints") or [])
        whole["nodeTaints"] = taints if pools.SPOT_TAINT in taints else [*taints, pools.SPOT_TAINT]
    return whole


def without_empty(given: Body) -> Body:
    """Without empty texts and a disk of 0 GB, which the Azure CLI sends for what its user doesn't say.

    The disk: Azure CLI's session test_aks_nodepool_stop_and_start (2023-06-29), where AKS shows 128."""
    return {name: value for name, value in given.items() if value != "" and (name, value) != ("osDiskSizeGB", 0)}


def _facts(pool: Body, cluster: Body, as_of: date, *, starts_with_one: bool) -> Body:
    version = str(pool.get("orchestratorVersion") or cluster["kubernetesVersion"])
    size = SIZES.find(str(pool.get("vmSize") or DEFAULT_SIZE))
    by_scale = pool.get("enableAutoScaling") and not starts_with_one
    return {
        "count": int(pool.get("minCount") or 0) if by_scale else 1,
        "version": version,
        "sku": default_sku(system_of(pool), versions.full(version, as_of)),
        "size": DEFAULT_SIZE,
        "gpu": size is not None and size.gpu is not None,
        "network": cluster.get("networkProfile") or {},
    }
