"""Converts bodies of clusters and pools for what runs the cluster on this machine."""

from datetime import date

from azure_gpu.catalog.services.aks.sizes import NO_DRIVER
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.lookup import normalise
from localazure.arm.store import Body, Resource
from localazure.kinds import managed_cluster_versions as versions
from localazure.kubernetes.model import ClusterShape, PoolShape
from localazure.services import Services


def system_of(pool: Body) -> OperatingSystem:
    return "Windows" if pool.get("osType") == "Windows" else "Linux"


def cluster_shape(cluster: Resource, services: Services, as_of: date) -> ClusterShape:
    """What runs for a stored cluster whose service fields are there."""
    properties = cluster.properties
    entra = properties.get("aadProfile") or {}
    security = (properties.get("securityProfile") or {}).get("workloadIdentity") or {}
    return ClusterShape(
        key=cluster.key,
        name=cluster.id.name,
        resource_group=cluster.id.resource_group,
        node_resource_group=properties["nodeResourceGroup"],
        location=cluster.location,
        kubernetes_version=version_of(cluster, as_of),
        tenant_id=entra.get("tenantID") or services.settings.tenant_id,
        local_accounts=not properties.get("disableLocalAccounts"),
        entra=bool(entra),
        azure_rbac=bool(entra.get("enableAzureRBAC")),
        admin_groups=tuple(entra.get("adminGroupObjectIDs") or ()),
        workload_identity=bool(security.get("enabled")),
        autoscaler={name: str(value) for name, value in (properties.get("autoScalerProfile") or {}).items()},
    )


def version_of(resource: Resource, as_of: date) -> str:
    """The version, with three numbers, that a cluster or a pool runs, or shall run where nothing runs yet."""
    requested = resource.properties.get("kubernetesVersion") or resource.properties["orchestratorVersion"]
    return versions.after(str(resource.private.get("version") or ""), requested, as_of)


def pool_shape(pool: Resource, as_of: date) -> PoolShape:
    """What runs for a stored pool."""
    return shape_of(pool.id.name.lower(), pool.properties, version_of(pool, as_of))


def shape_of(name: str, given: Body, version: str) -> PoolShape:
    """What runs for a pool of these properties. One that is stopped has no nodes."""
    stopped = (given.get("powerState") or {}).get("code") == "Stopped"
    return PoolShape(
        name=name,
        vm_size=normalise(given["vmSize"]),
        count=0 if stopped else int(given["count"]),
        autoscaling=bool(given.get("enableAutoScaling")) and not stopped,
        min_count=int(given.get("minCount") or 0),
        max_count=int(given.get("maxCount") or 0),
        mode=given["mode"],
        spot=given.get("scaleSetPriority") == "Spot",
        eviction_policy=given.get("scaleSetEvictionPolicy") or "Delete",
        labels=given.get("nodeLabels") or {},
        taints=tuple(taint(each) for each in given.get("nodeTaints") or ()),
        zones=tuple(given.get("availabilityZones") or ()),
        os_type=given["osType"],
        os_sku=given["osSKU"],
        gpu_driver=(given.get("gpuProfile") or {}).get("driver") != NO_DRIVER,
        mig_profile=given.get("gpuInstanceProfile") or "",
        max_pods=int(given["maxPods"]),
        kubernetes_version=version,
        os_disk_gb=int(given["osDiskSizeGB"]),
    )


def taint(text: str) -> dict[str, str]:
    """`sku=gpu:NoSchedule`, which may lack the value, as Kubernetes reads it. ValueError for anything else."""
    said, colon, effect = text.rpartition(":")
    key, _, value = said.partition("=")
    if not colon or not key or effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
        raise ValueError(text)
    return {"key": key, "value": value, "effect": effect}
