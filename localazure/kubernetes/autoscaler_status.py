"""The ConfigMap `cluster-autoscaler-status` of the cluster autoscaler, which AKS's page on its errors reads.

Pure.
"""

from typing import Any

import yaml

from localazure.kubernetes.autoscaler import Cluster, started

PATH = "/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status"


def text(cluster: Cluster, time: str) -> str:
    """As the real one writes it since 1.30."""
    groups = [
        {
            "name": pool.vmss,
            "health": {
                "status": "Healthy",
                "nodeCounts": _counts(cluster, pool.name),
                "cloudProviderTarget": pool.target,
                "minSize": pool.least,
                "maxSize": pool.most,
            },
            "scaleUp": {"status": _scale_up(cluster, pool.name, pool.target, failed=pool.backoff_until is not None)},
        }
        for pool in cluster.pools
    ]
    whole = {"health": {"status": "Healthy", "nodeCounts": _counts(cluster, "")}}
    return yaml.safe_dump(
        {"time": time, "autoscalerStatus": "Running", "clusterWide": whole, "nodeGroups": groups}, sort_keys=False
    )


def configmap(content: str) -> dict[str, Any]:
    metadata = {"name": "cluster-autoscaler-status", "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"status": content}}


def _counts(cluster: Cluster, pool: str) -> dict[str, Any]:
    own = [node for node in cluster.nodes if not pool or node.pool == pool]
    ready = sum(1 for node in own if started(node))
    return {"registered": {"total": len(own), "ready": ready, "notStarted": len(own) - ready}}


def _scale_up(cluster: Cluster, pool: str, target: int, *, failed: bool) -> str:
    if failed:
        return "Backoff"
    return "InProgress" if target > sum(1 for node in cluster.nodes if node.pool == pool and started(node)) else "NoActivity"
