"""Azure's defaults of properties, which a stack file needn't set.

By type, paths of azure-native's inputs with the value that Azure sets by default; ANY if it generates or changes the value. In
a path, `[]` is any item of a list. Every other value that Azure has and the program doesn't send is taken as intended, and
pinned. A default that is missing here costs one line in the stack file.

Sources: docstrings of pulumi-azure-native 3.29, which have ARM's descriptions and defaults; answers of Azure to bodies that
leave the property out, as tests/recorded has them.
"""

from collections.abc import Mapping
from typing import Any, Final

from azure_gpu.formats import azure_types

ANY: Final = object()

_NODES: Mapping[str, Any] = {
    "gpuProfile.driver": "Install",
    "kubeletDiskType": "OS",
    "nodeImageVersion": ANY,
    "orchestratorVersion": ANY,
    "osDiskType": "Managed",
    "powerState.code": ANY,
    "scaleDownMode": "Delete",
    "securityProfile.sshAccess": "LocalUser",
    "spotMaxPrice": -1,
    "upgradeSettings.maxSurge": "10%",
    "upgradeSettings.maxUnavailable": "0",
}
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    azure_types.MANAGED_CLUSTER.token: {
        **{f"agentPoolProfiles[].{path}": value for path, value in _NODES.items()},
        "agentPoolProfiles[].count": ANY,  # the autoscaler's
        "agentPoolProfiles[].maxPods": 250,
        "agentPoolProfiles[].osDiskSizeGB": 128,
        "aadProfile.tenantID": ANY,
        "bootstrapProfile.artifactSource": "Direct",
        "identityProfile.kubeletidentity.clientId": ANY,
        "identityProfile.kubeletidentity.objectId": ANY,
        "identityProfile.kubeletidentity.resourceId": ANY,
        "kind": "Base",
        "kubernetesVersion": ANY,
        "linuxProfile.adminUsername": ANY,
        "networkProfile.ipFamilies": ["IPv4"],
        "networkProfile.loadBalancerProfile.backendPoolType": "nodeIPConfiguration",
        "networkProfile.loadBalancerProfile.effectiveOutboundIPs": ANY,
        "networkProfile.loadBalancerProfile.managedOutboundIPs.count": 1,
        "networkProfile.networkDataplane": "azure",
        "networkProfile.networkPolicy": "none",
        "networkProfile.podCidrs": ANY,
        "networkProfile.serviceCidrs": ANY,
        "nodeProvisioningProfile.defaultNodePools": "Auto",
        "nodeProvisioningProfile.mode": "Manual",
        "servicePrincipalProfile.clientId": "msi",
        "storageProfile.diskCSIDriver.enabled": True,
        "storageProfile.fileCSIDriver.enabled": True,
        "storageProfile.snapshotController.enabled": True,
        "supportPlan": "KubernetesOfficial",
        "windowsProfile.adminUsername": ANY,
    },
    azure_types.AGENT_POOL.token: _NODES,
    azure_types.BATCH_POOL.token: {"identity.type": "None", "taskSchedulingPolicy.nodeFillType": "Spread"},
    azure_types.ML_WORKSPACE.token: {
        "discoveryUrl": ANY,
        "managedNetwork.isolationMode": "Disabled",
        "managedNetwork.changeableIsolationModes": ANY,
    },
    # Shares of the requests are those of the template.
    azure_types.ML_ONLINE_ENDPOINT.token: {"kind": "Managed", "properties.traffic": ANY, "properties.mirrorTraffic": ANY},
    azure_types.ML_ONLINE_DEPLOYMENT.token: {"kind": "Managed"},
}


def is_default(token: str, path: str, value: Any) -> bool:
    """Whether Azure has `value` there by itself. `path`: with `[]` for any item."""
    known = DEFAULTS.get(token, {})
    return path in known and known[path] in (ANY, value)
