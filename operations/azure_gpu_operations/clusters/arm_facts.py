"""AKS clusters and node pools, parsed from ARM's responses. Pure."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from azure_gpu.catalog.services.aks import pools
from azure_gpu.catalog.services.aks.clusters import FREE
from azure_gpu.catalog.services.aks.systems import PROVIDER_API
from azure_gpu.catalog.services.machine_learning import endpoints
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import tags
from azure_gpu_operations.observed.bodies import read

API_VERSION = PROVIDER_API
CLUSTER_TYPE = "Microsoft.ContainerService/managedClusters"
POOL_TYPE = f"{CLUSTER_TYPE}/agentPools"
STOPPED = "Stopped"


class PoolFacts(NamedTuple):
    """One pool."""

    name: Annotated[str, "name"]
    id: Annotated[str, "id"]
    size: Annotated[str, "properties.vmSize"] = ""
    mode: Annotated[str, "properties.mode"] = ""
    count: Annotated[int, "properties.count"] = 0
    autoscaling: Annotated[bool, "properties.enableAutoScaling"] = False
    least: Annotated[int, "properties.minCount"] = 0
    most: Annotated[int, "properties.maxCount"] = 0
    is_spot: bool = False
    taints: tuple[str, ...] = ()  # key=value:effect, with those that AKS adds
    labels: Annotated[Mapping[str, str], "properties.nodeLabels"] = {}
    provisioning: Annotated[str, "properties.provisioningState"] = ""
    power: Annotated[str, "properties.powerState.code"] = ""
    mig_profile: Annotated[str, "properties.gpuInstanceProfile"] = ""
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

    name: Annotated[str, "name"]
    id: Annotated[str, "id"]
    location: Annotated[str, "location"] = ""
    provisioning: Annotated[str, "properties.provisioningState"] = ""
    power: Annotated[str, "properties.powerState.code"] = ""
    version: str = ""
    has_entra: Annotated[bool, "properties.aadProfile"] = False
    local_accounts: bool = False
    is_private: Annotated[bool, "properties.apiServerAccessProfile.enablePrivateCluster"] = False
    subnet_id: str = ""  # of its nodes; "" in a network of AKS's own
    node_group: Annotated[str, "properties.nodeResourceGroup"] = ""  # the resource group of its nodes
    runs_commands: bool = True  # AKS runs kubectl in it on request
    tier: str = ""  # of its control plane, which may cost
    tags: Annotated[Mapping[str, str], "tags"] = {}

    @property
    def is_stopped(self) -> bool:
        return self.power.lower() == STOPPED.lower()


def cluster_of(body: Mapping[str, Any]) -> ClusterFacts:
    properties = body.get("properties") or {}
    subnets = [str(pool.get("vnetSubnetID") or "") for pool in properties.get("agentPoolProfiles") or ()]
    return read(
        ClusterFacts,
        body,
        version=str(properties.get("currentKubernetesVersion") or properties.get("kubernetesVersion") or ""),
        local_accounts=not properties.get("disableLocalAccounts"),
        subnet_id=next(filter(None, subnets), ""),
        runs_commands=not (properties.get("apiServerAccessProfile") or {}).get("disableRunCommand"),
        tier=str((body.get("sku") or {}).get("tier") or FREE),
    )


def pool_of(body: Mapping[str, Any]) -> PoolFacts:
    properties = body.get("properties") or {}
    is_spot = str(properties.get("scaleSetPriority") or "").lower() == "spot"
    taints = [str(each) for each in properties.get("nodeTaints") or []]
    if is_spot and pools.SPOT_TAINT not in taints:
        taints.append(pools.SPOT_TAINT)
    return read(
        PoolFacts,
        body,
        is_spot=is_spot,
        taints=tuple(taints),
        installs_driver=str((properties.get("gpuProfile") or {}).get("driver") or "Install") != "None",
        is_windows=str(properties.get("osType") or "") == "Windows",
    )
