"""What somebody has made in Azure without this program, over ARM: clusters and Batch accounts with pools, registries."""

from typing import Any

from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure
from tests.support.ml_resources import REGION, put_identity, put_storage

GROUPS, CLUSTERS, BATCH, REGISTRY, LOGS = "2024-03-01", "2025-09-01", "2024-07-01", "2023-07-01", "2023-09-01"
T4_POOL: dict[str, Any] = {
    "mode": "User",
    "type": "VirtualMachineScaleSets",
    "count": 0,
    "vmSize": "Standard_NC4as_T4_v3",
    "osType": "Linux",
    "enableAutoScaling": True,
    "minCount": 0,
    "maxCount": 2,
    "nodeTaints": ["sku=gpu:NoSchedule"],
    "nodeLabels": {"team": "vision"},
    "osDiskSizeGB": 200,
}
MACHINES: dict[str, Any] = {
    "imageReference": {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204", "version": "latest"},
    "nodeAgentSkuId": "batch.node.ubuntu 22.04",
}

# What Azure moves by itself, or with every look of a service at its own.
_MOVES = ("etag", "eTag", "lastModified", "systemData", "lastKeySync", "nodeImageVersion", "currentOrchestratorVersion")


def stays(value: Any) -> Any:
    """A body without what Azure moves by itself."""
    if isinstance(value, dict):
        return {key: stays(inner) for key, inner in value.items() if key not in _MOVES}
    return [stays(each) for each in value] if isinstance(value, list) else value


def group(azure: EmbeddedAzure, name: str) -> str:
    return azure.made(f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{name}", {"location": REGION}, GROUPS)["id"]


def cluster(azure: EmbeddedAzure, group_id: str, name: str, *, cpu_pool: bool = True) -> str:
    """As `az aks create` and `az aks nodepool add` make one: an identity of its own, AKS's names, a pool of T4s."""
    pool = {"count": 1, "vmSize": "Standard_D4s_v5", "osType": "Linux", "type": "VirtualMachineScaleSets"}
    more = [{**pool, "name": "cpus", "mode": "User", "count": 0}] if cpu_pool else []
    properties = {
        "dnsPrefix": f"{name}-lab-1a2b3c",
        "agentPoolProfiles": [*more, {**pool, "name": "nodepool1", "mode": "System", "osDiskSizeGB": 256}],
        "networkProfile": {"networkPlugin": "azure", "networkPluginMode": "overlay"},
        "aadProfile": {"managed": True, "enableAzureRBAC": True},
        "storageProfile": {"blobCSIDriver": {"enabled": True}},
    }
    path = f"{group_id}/providers/Microsoft.ContainerService/managedClusters/{name}"
    body = {"location": REGION, "identity": {"type": "SystemAssigned"}, "tags": {"cost": "7"}, "properties": properties}
    azure.made(path, body, CLUSTERS)
    azure.made(f"{path}/agentPools/gput4", {"properties": T4_POOL}, CLUSTERS)
    return path


def registry(azure: EmbeddedAzure, group_id: str, name: str) -> str:
    """With what the program sends otherwise."""
    path = f"{group_id}/providers/Microsoft.ContainerRegistry/registries/{name}"
    body = {"location": REGION, "sku": {"name": "Standard"}, "properties": {"adminUserEnabled": True}, "tags": {"cost": "7"}}
    azure.made(path, body, REGISTRY)
    return path


def log_workspace(azure: EmbeddedAzure, group_id: str, name: str) -> str:
    path = f"{group_id}/providers/Microsoft.OperationalInsights/workspaces/{name}"
    properties = {"sku": {"name": "PerGB2018"}, "retentionInDays": 60}
    azure.made(path, {"location": REGION, "properties": properties}, LOGS)
    return path


def batch_pool(azure: EmbeddedAzure, group_id: str, account: str) -> str:
    """The account's id; its pool is `t4s`."""
    identity, storage = put_identity(azure, group_id)["id"], put_storage(azure, group_id)
    path = f"{group_id}/providers/Microsoft.Batch/batchAccounts/{account}"
    of_storage = {"storageAccountId": storage, "authenticationMode": "BatchAccountManagedIdentity"}
    properties = {"autoStorage": {**of_storage, "nodeIdentityReference": {"resourceId": identity}}}
    who = {"type": "UserAssigned", "userAssignedIdentities": {identity: {}}}
    azure.made(path, {"location": REGION, "identity": who, "properties": properties}, BATCH)
    pool = {
        "vmSize": "STANDARD_NC4AS_T4_V3",
        "deploymentConfiguration": {"virtualMachineConfiguration": MACHINES},
        "scaleSettings": {"fixedScale": {"targetDedicatedNodes": 0}},
        "targetNodeCommunicationMode": "Simplified",
        "taskSlotsPerNode": 2,
    }
    azure.made(f"{path}/pools/t4s", {"properties": pool}, BATCH)
    return path
