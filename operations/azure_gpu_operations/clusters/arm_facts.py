"""AKS clusters and node pools, parsed from ARM's responses. Pure."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from azure_gpu.catalog.services.aks import pools
from azure_gpu.catalog.services.aks.clusters import FREE
from azure_gpu.catalog.services.aks.systems import PROVIDER_API
from azure_gpu.catalog.services.machine_learning import endpoints
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import tags

API_VERSION = PROVIDER_API
CLUSTER_TYPE = "Microsoft.ContainerService/managedClusters"
POOL_TYPE = f"{CLUSTER_TYPE}/agentPools"
STOPPED = "Stopped"


class PoolFacts(NamedTuple):
    """One pool."""

    name: str
    id: str
    size: str = ""
    mode: str = ""
    count: int = 0
    autoscaling: bool = False
    least: int = 0
    most: int = 0
    is_spot: bool = False
    taints: tuple[str, ...] = ()  # key=value:effect, with those that AKS adds
    labels: Mapping[str, str] = {}
    provisioning: str = ""
    power: str = ""
    mig_profile: str = ""
    installs_driver: bool = True
    is_windows: bool = False

    @property
    def called(self) -> str:
        """The name in the stack file; the name in Azure may differ, so that a replacement can be created beside the pool."""
        return self.labels.get(tags.NODE_POOL) or self.name

    def is_meant(self, name: str) -> bool:
        return name in (self.name, self.called)

    @property
    def has_gpu(self) -> bool:
        """Whether its nodes have GPUs; true also where the catalog doesn't know, as of a size that is newer than it."""
        found = SIZES.find(self.size)
        of_size = found.gpu is not None if found is not None else bool(self.size) and endpoints.has_gpu(self.size) is None
        return bool(self.mig_profile) or of_size

    @property
    def at_most(self) -> int:
        """Its maximum number of nodes."""
        return self.most if self.autoscaling else self.count


class ClusterFacts(NamedTuple):
    """One cluster, without its pools."""

    name: str
    id: str
    location: str = ""
    provisioning: str = ""
    power: str = ""
    version: str = ""
    has_entra: bool = False
    local_accounts: bool = False
    is_private: bool = False
    subnet_id: str = ""  # of its nodes; "" in a network of AKS's own
    node_group: str = ""  # the resource group of its nodes
    runs_commands: bool = True  # AKS runs kubectl in it on request
    tier: str = ""  # of its control plane, which may cost
    tags: Mapping[str, str] = {}

    @property
    def is_stopped(self) -> bool:
        return self.power.lower() == STOPPED.lower()


def cluster_of(body: Mapping[str, Any]) -> ClusterFacts:
    properties = body.get("properties") or {}
    access = properties.get("apiServerAccessProfile") or {}
    subnets = [str(pool.get("vnetSubnetID") or "") for pool in properties.get("agentPoolProfiles") or ()]
    return ClusterFacts(
        name=str(body.get("name") or ""),
        id=str(body.get("id") or ""),
        location=str(body.get("location") or ""),
        provisioning=str(properties.get("provisioningState") or ""),
        power=str((properties.get("powerState") or {}).get("code") or ""),
        version=str(properties.get("currentKubernetesVersion") or properties.get("kubernetesVersion") or ""),
        has_entra=bool(properties.get("aadProfile")),
        local_accounts=not properties.get("disableLocalAccounts"),
        is_private=bool(access.get("enablePrivateCluster")),
        subnet_id=next(filter(None, subnets), ""),
        node_group=str(properties.get("nodeResourceGroup") or ""),
        runs_commands=not access.get("disableRunCommand"),
        tier=str((body.get("sku") or {}).get("tier") or FREE),
        tags=body.get("tags") or {},
    )


def pool_of(body: Mapping[str, Any]) -> PoolFacts:
    properties = body.get("properties") or {}
    is_spot = str(properties.get("scaleSetPriority") or "").lower() == "spot"
    taints = [str(each) for each in properties.get("nodeTaints") or []]
    if is_spot and pools.SPOT_TAINT not in taints:
        taints.append(pools.SPOT_TAINT)
    return PoolFacts(
        name=str(body.get("name") or ""),
        id=str(body.get("id") or ""),
        size=str(properties.get("vmSize") or ""),
        mode=str(properties.get("mode") or ""),
        count=int(properties.get("count") or 0),
        autoscaling=bool(properties.get("enableAutoScaling")),
        least=int(properties.get("minCount") or 0),
        most=int(properties.get("maxCount") or 0),
        is_spot=is_spot,
        taints=tuple(taints),
        labels={str(key): str(value) for key, value in (properties.get("nodeLabels") or {}).items()},
        provisioning=str(properties.get("provisioningState") or ""),
        power=str((properties.get("powerState") or {}).get("code") or ""),
        mig_profile=str(properties.get("gpuInstanceProfile") or ""),
        installs_driver=str((properties.get("gpuProfile") or {}).get("driver") or "Install") != "None",
        is_windows=str(properties.get("osType") or "") == "Windows",
    )
