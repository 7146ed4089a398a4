"""What a cluster offers to an Azure Machine Learning workspace that attaches it."""

from azure_gpu.aks.spec import ClusterSpec
from azure_gpu.catalog.services.aks import clusters
from azure_gpu.kubernetes.gpu_objects.spec import PoolNodes
from azure_gpu.shared.attachable import ClusterOfWorkspace


def of_cluster(spec: ClusterSpec) -> ClusterOfWorkspace:
    """The cluster's plain values."""
    vcpus = clusters.vcpus(spec.system.size)
    return ClusterOfWorkspace(
        id=spec.existing.text if spec.existing else "",
        name=spec.name,
        resource_group_name=spec.existing.resource_group if spec.existing else "",
        path=spec.path,
        existing=spec.existing is not None,
        namespace=spec.objects.namespace if spec.on_cluster else "",
        local_accounts=spec.access.local_accounts,
        open_to_everybody=spec.access.network == "public",
        nodes=spec.system.nodes,
        vcpus=(vcpus or 0) * spec.system.nodes,
        gpus={name: _gpus(pool) for name, pool in spec.objects.pools.items()},
        taints={name: list(pool.taints) for name, pool in spec.objects.pools.items()},
    )


def _gpus(pool: PoolNodes) -> int:
    found = pool.yields
    return (pool.gpus or 0) * (found.each if found is not None else 1)
