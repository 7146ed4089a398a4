"""Requests of our own, a life for each type of the tables: made, read, made again, patched, deleted, and read once more.

The bodies are of the form that the sessions of the tables have: what the service fills in depends on what a request leaves out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.embedded import SUBSCRIPTION
from tests.support.ssh_keys import PUBLIC_KEY

PLACE = "westeurope"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{{unique}}"
TENANT = "{tenant}"  # filled in by whoever sends the requests, as is a principal's id
PRINCIPAL = "{principal}"


@dataclass(frozen=True, slots=True)
class Life:
    """One resource, from its first PUT to the read that finds nothing."""

    arm_type: str
    path: str
    body: Mapping[str, Any]
    patch: Mapping[str, Any] = field(default_factory=dict)  # empty: no PATCH is sent
    other: Mapping[str, Any] = field(default_factory=dict)  # members whose value depends on what the body asks


def _in_group(arm_type: str, name: str, group: str = GROUP) -> str:
    return f"{group}/providers/{arm_type}/{name}"


def _placed(properties: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"location": PLACE, **more, **({"properties": dict(properties)} if properties is not None else {})}


IDENTITY = _in_group("Microsoft.ManagedIdentity/userAssignedIdentities", "worker")
ACCOUNT = _in_group("Microsoft.Storage/storageAccounts", "{unique}")
VAULT = _in_group("Microsoft.KeyVault/vaults", "{unique}")
LOGS = _in_group("Microsoft.OperationalInsights/workspaces", "logs")
NETWORK = _in_group("Microsoft.Network/virtualNetworks", "net")
SUBNET = f"{NETWORK}/subnets/nodes"
INTERFACE = _in_group("Microsoft.Network/networkInterfaces", "nic")
MACHINE = _in_group("Microsoft.Compute/virtualMachines", "vm")
ENVIRONMENT = _in_group("Microsoft.App/managedEnvironments", "env")
WORKSPACE = _in_group("Microsoft.MachineLearningServices/workspaces", "lab")
INSIGHTS = _in_group("Microsoft.Insights/components", "watch")
READER = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/acdd72a7-3385-48ef-bd42-f606fba81ae7"
CLUSTER = _in_group("Microsoft.ContainerService/managedClusters", "gpu")
_POOL = {"count": 1, "vmSize": "Standard_D4s_v5", "osType": "Linux"}
_TAGS = {"tags": {"team": "lab"}}
_BUSY = {
    "metricTrigger": {
        "metricName": "Percentage CPU",
        "metricResourceUri": MACHINE,
        "timeGrain": "PT1M",
        "statistic": "Average",
        "timeWindow": "PT10M",
        "timeAggregation": "Average",
        "operator": "GreaterThan",
        "threshold": 80,
    },
    "scaleAction": {"direction": "Increase", "type": "ChangeCount", "value": "1", "cooldown": "PT5M"},
}

# In an order in which each finds what it depends on; deleted in the opposite one.
LIVES = (
    Life("Microsoft.Resources/resourceGroups", GROUP, _placed(), _TAGS),
    Life("Microsoft.ManagedIdentity/userAssignedIdentities", IDENTITY, _placed(), _TAGS),
    Life(
        "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials",
        f"{IDENTITY}/federatedIdentityCredentials/pods",
        {"properties": {"issuer": "https://issuer.example/", "subject": "pods", "audiences": ["api://AzureADTokenExchange"]}},
    ),
    Life("Microsoft.Storage/storageAccounts", ACCOUNT, _placed({}, kind="StorageV2", sku={"name": "Standard_LRS"}), _TAGS),
    Life("Microsoft.Storage/storageAccounts/blobServices", f"{ACCOUNT}/blobServices/default", {}),
    Life("Microsoft.Storage/storageAccounts/blobServices/containers", f"{ACCOUNT}/blobServices/default/containers/results", {}),
    Life(
        "Microsoft.Authorization/roleAssignments",
        f"{ACCOUNT}/providers/Microsoft.Authorization/roleAssignments/5ac6f3a8-7b1f-4d1b-9d5e-6c1f7a0e9b11",
        {"properties": {"roleDefinitionId": READER, "principalId": PRINCIPAL}},
    ),
    Life(
        "Microsoft.ContainerRegistry/registries",
        _in_group("Microsoft.ContainerRegistry/registries", "{unique}"),
        _placed({"adminUserEnabled": False}, sku={"name": "Premium"}),
        _TAGS,
    ),
    Life("Microsoft.OperationalInsights/workspaces", LOGS, _placed({"sku": {"name": "PerGB2018"}})),
    Life(
        "Microsoft.KeyVault/vaults",
        VAULT,
        _placed({"tenantId": TENANT, "sku": {"family": "A", "name": "standard"}, "accessPolicies": []}),
    ),
    Life("Microsoft.Insights/components", INSIGHTS, _placed({"Application_Type": "other"}, kind="web")),
    Life("Microsoft.Network/virtualNetworks", NETWORK, _placed({"addressSpace": {"addressPrefixes": ["10.8.0.0/16"]}})),
    Life(
        "Microsoft.Insights/diagnosticSettings",
        f"{NETWORK}/providers/Microsoft.Insights/diagnosticSettings/kept",
        {"properties": {"storageAccountId": ACCOUNT, "logs": [{"categoryGroup": "allLogs", "enabled": True}]}},
    ),
    Life("Microsoft.Network/virtualNetworks/subnets", SUBNET, {"properties": {"addressPrefix": "10.8.1.0/24"}}),
    Life("Microsoft.Network/networkSecurityGroups", _in_group("Microsoft.Network/networkSecurityGroups", "rules"), _placed()),
    Life(
        "Microsoft.Network/publicIPAddresses",
        _in_group("Microsoft.Network/publicIPAddresses", "door"),
        _placed({"publicIPAllocationMethod": "Static"}, sku={"name": "Standard"}),
    ),
    Life(
        "Microsoft.Network/networkInterfaces",
        INTERFACE,
        _placed({"ipConfigurations": [{"name": "main", "properties": {"subnet": {"id": SUBNET}}}]}),
    ),
    Life(
        "Microsoft.Network/privateEndpoints",
        _in_group("Microsoft.Network/privateEndpoints", "inside"),
        _placed(
            {
                "subnet": {"id": SUBNET},
                "privateLinkServiceConnections": [
                    {"name": "blobs", "properties": {"privateLinkServiceId": ACCOUNT, "groupIds": ["blob"]}}
                ],
            }
        ),
    ),
    Life(
        "Microsoft.Compute/virtualMachines",
        MACHINE,
        _placed(
            {
                "hardwareProfile": {"vmSize": "Standard_D2_v5"},
                "networkProfile": {"networkInterfaces": [{"id": INTERFACE}]},
                "osProfile": {
                    "computerName": "vm",
                    "adminUsername": "lab",
                    "adminPassword": "Of-this-test-0nly",
                },
                "storageProfile": {
                    "imageReference": {
                        "publisher": "Canonical",
                        "offer": "0001-com-ubuntu-server-jammy",
                        "sku": "22_04-lts-gen2",
                        "version": "latest",
                    }
                },
            }
        ),
    ),
    Life(
        "Microsoft.Compute/virtualMachines/extensions",
        f"{MACHINE}/extensions/health",
        _placed({"publisher": "Microsoft.ManagedServices", "type": "ApplicationHealthLinux", "typeHandlerVersion": "1.0"}),
    ),
    Life(
        "Microsoft.Insights/autoscaleSettings",
        _in_group("Microsoft.Insights/autoscaleSettings", "more"),
        _placed(
            {
                "name": "more",
                "targetResourceUri": MACHINE,
                "profiles": [{"name": "usual", "capacity": {"minimum": "1", "maximum": "2", "default": "1"}, "rules": [_BUSY]}],
            }
        ),
    ),
    Life(
        "Microsoft.ContainerInstance/containerGroups",
        _in_group("Microsoft.ContainerInstance/containerGroups", "group"),
        _placed(
            {
                "osType": "Linux",
                "restartPolicy": "Always",
                "ipAddress": {"type": "Public", "ports": [{"port": 80, "protocol": "TCP"}]},
                "containers": [
                    {
                        "name": "main",
                        "properties": {
                            "image": "mcr.microsoft.com/azuredocs/aci-helloworld",
                            "ports": [{"port": 80, "protocol": "TCP"}],
                            "resources": {"requests": {"cpu": 1, "memoryInGB": 2}},
                        },
                    }
                ],
            }
        ),
    ),
    Life(
        "Microsoft.App/managedEnvironments",
        ENVIRONMENT,
        _placed(
            {"workloadProfiles": [{"name": "four", "workloadProfileType": "D4", "minimumCount": 1, "maximumCount": 2}]},
        ),
    ),
    Life(
        "Microsoft.App/jobs",
        _in_group("Microsoft.App/jobs", "train"),
        _placed(
            {
                "environmentId": ENVIRONMENT,
                "configuration": {
                    "triggerType": "Manual",
                    "replicaTimeout": 10,
                    "replicaRetryLimit": 10,
                    "manualTriggerConfig": {"parallelism": 1, "replicaCompletionCount": 1},
                },
                "template": {"containers": [{"name": "main", "image": "mcr.microsoft.com/k8se/quickstart-jobs:latest"}]},
            }
        ),
    ),
    Life("Microsoft.Batch/batchAccounts", _in_group("Microsoft.Batch/batchAccounts", "{unique}"), _placed(), _TAGS),
    Life(
        "Microsoft.MachineLearningServices/workspaces",
        WORKSPACE,
        _placed(
            {"storageAccount": ACCOUNT, "keyVault": VAULT, "allowPublicAccessWhenBehindVnet": False},
            identity={"type": "SystemAssigned"},
            sku={"name": "Basic", "tier": "Basic"},
        ),
    ),
    Life(
        "Microsoft.MachineLearningServices/workspaces/computes",
        f"{WORKSPACE}/computes/attached",
        _placed(
            {
                "computeType": "VirtualMachine",
                "disableLocalAuth": True,
                "resourceId": MACHINE,
                "properties": {"sshPort": 22, "administratorAccount": {"username": "lab", "password": "Of-this-test-0nly"}},
            },
            identity={"type": "SystemAssigned"},
        ),
    ),
)
BATCH = _in_group("Microsoft.Batch/batchAccounts", "{unique}")
GALLERY = _in_group("Microsoft.Compute/galleries", "lab")
DOOR = _in_group("Microsoft.Network/publicIPAddresses", "door")
ZONE = _in_group("Microsoft.Network/privateDnsZones", "lab.example")
_ML_BLOBS = "https://{unique}.blob.core.windows.net"
_HPC = {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204", "version": "latest"}
# Types of which no session is in the tables; they need some of those above.
FURTHER_LIVES = (
    Life(
        "Microsoft.Batch/batchAccounts/pools",
        f"{BATCH}/pools/train",
        {
            "identity": {"type": "UserAssigned", "userAssignedIdentities": {IDENTITY: {}}},
            "properties": {
                "vmSize": "Standard_NC4as_T4_v3",
                "deploymentConfiguration": {
                    "virtualMachineConfiguration": {
                        "imageReference": _HPC,
                        "nodeAgentSkuId": "batch.node.ubuntu 22.04",
                        "containerConfiguration": {
                            "type": "DockerCompatible",
                            "containerImageNames": [],
                            "containerRegistries": [
                                {"registryServer": "x.azurecr.io", "identityReference": {"resourceId": IDENTITY}}
                            ],
                        },
                        "extensions": [
                            {
                                "name": "gpu",
                                "publisher": "Microsoft.HpcCompute",
                                "type": "NvidiaGpuDriverLinux",
                                "typeHandlerVersion": "1.10",
                                "autoUpgradeMinorVersion": True,
                                "settings": {"driverVersion": "latest"},
                                "protectedSettings": {"secret": "4711"},
                            }
                        ],
                    }
                },
                "scaleSettings": {"autoScale": {"formula": "$TargetDedicatedNodes = 0;", "evaluationInterval": "PT5M"}},
                "startTask": {
                    "commandLine": "/bin/true",
                    "environmentSettings": [{"name": "A", "value": "b"}],
                    "userIdentity": {"autoUser": {"elevationLevel": "Admin", "scope": "Pool"}},
                },
                "metadata": [{"name": "logical", "value": "train"}],
                "taskSchedulingPolicy": {"nodeFillType": "Pack"},
                "taskSlotsPerNode": 2,
                "userAccounts": [{"name": "runner", "password": "4711"}],
            },
        },
    ),
    Life("Microsoft.Batch/batchAccounts/applications", f"{BATCH}/applications/tools", {"properties": {"displayName": "Tools"}}),
    Life("Microsoft.Compute/galleries", GALLERY, _placed({"description": "of the lab"})),
    Life(
        "Microsoft.Compute/galleries/images",
        f"{GALLERY}/images/gpu",
        _placed(
            {
                "osType": "Linux",
                "osState": "Generalized",
                "hyperVGeneration": "V2",
                "identifier": {"publisher": "lab", "offer": "gpu", "sku": "a"},
            }
        ),
    ),
    Life(
        "Microsoft.Compute/galleries/images/versions",
        f"{GALLERY}/images/gpu/versions/1.0.0",
        _placed(
            {
                "storageProfile": {"source": {"id": _in_group("Microsoft.Compute/snapshots", "gpu")}},
                "publishingProfile": {"targetRegions": [{"name": PLACE, "regionalReplicaCount": 1}]},
            }
        ),
    ),
    Life(
        "Microsoft.Network/natGateways",
        _in_group("Microsoft.Network/natGateways", "out"),
        _placed({"publicIpAddresses": [{"id": DOOR}]}, sku={"name": "Standard"}),
    ),
    Life("Microsoft.Network/privateDnsZones", ZONE, {"location": "global"}),
    Life(
        "Microsoft.Network/privateDnsZones/virtualNetworkLinks",
        f"{ZONE}/virtualNetworkLinks/net",
        {"location": "global", "properties": {"virtualNetwork": {"id": NETWORK}, "registrationEnabled": False}},
    ),
    Life(
        "Microsoft.Network/bastionHosts",
        _in_group("Microsoft.Network/bastionHosts", "bastion"),
        _placed({"virtualNetwork": {"id": NETWORK}}, sku={"name": "Developer"}),
    ),
    Life(
        "Microsoft.MachineLearningServices/workspaces/datastores",
        f"{WORKSPACE}/datastores/models",
        {
            "properties": {
                "datastoreType": "AzureBlob",
                "accountName": "{unique}",
                "containerName": "results",
                "credentials": {"credentialsType": "None"},
            }
        },
    ),
    Life(
        "Microsoft.MachineLearningServices/workspaces/models/versions",
        f"{WORKSPACE}/models/digits/versions/1",
        {"properties": {"modelUri": f"{_ML_BLOBS}/results/digits", "modelType": "custom_model"}},
    ),
    Life(
        "Microsoft.MachineLearningServices/workspaces/environments/versions",
        f"{WORKSPACE}/environments/scoring/versions/1",
        {
            "properties": {
                "image": "mcr.microsoft.com/azureml/minimal:1",
                "inferenceConfig": {"scoringRoute": {"path": "/", "port": 5001}},
                "osType": "Linux",
            }
        },
    ),
    Life(
        "Microsoft.MachineLearningServices/workspaces/onlineEndpoints",
        f"{WORKSPACE}/onlineEndpoints/digits-{{unique}}",
        _placed({"authMode": "Key"}, identity={"type": "UserAssigned", "userAssignedIdentities": {IDENTITY: {}}}),
    ),
)
# Their control planes are only written down.
CLUSTER_LIVES = (
    Life(
        "Microsoft.ContainerService/managedClusters",
        CLUSTER,
        _placed(
            {
                "dnsPrefix": "gpu",
                "agentPoolProfiles": [{**_POOL, "name": "system", "mode": "System"}],
                "linuxProfile": {
                    "adminUsername": "azureuser",
                    "ssh": {"publicKeys": [{"keyData": PUBLIC_KEY}]},
                },
                "networkProfile": {"networkPlugin": "azure"},
            },
            identity={"type": "SystemAssigned"},
        ),
        other={"properties.oidcIssuerProfile.enabled": True},  # the read one was made when new clusters had no issuer
    ),
    Life(
        "Microsoft.ContainerService/managedClusters/agentPools",
        f"{CLUSTER}/agentPools/more",
        {"properties": {**_POOL, "mode": "User"}},
        other={"properties.maxPods": 30},  # 250 in the overlay of the session's cluster
    ),
    Life(
        "Microsoft.ContainerService/managedClusters/maintenanceConfigurations",
        f"{CLUSTER}/maintenanceConfigurations/aksManagedAutoUpgradeSchedule",
        {
            "properties": {
                "maintenanceWindow": {
                    "durationHours": 8,
                    "startTime": "01:00",
                    "schedule": {"weekly": {"dayOfWeek": "Sunday", "intervalWeeks": 1}},
                }
            }
        },
    ),
    Life(
        "Microsoft.KubernetesConfiguration/extensions",
        f"{CLUSTER}/providers/Microsoft.KubernetesConfiguration/extensions/flux",
        {
            "identity": {"type": "SystemAssigned"},
            "properties": {
                "extensionType": "microsoft.flux",
                "autoUpgradeMinorVersion": True,
                "scope": {"cluster": {"releaseNamespace": "flux-system"}},
            },
        },
    ),
)


@dataclass(frozen=True, slots=True)
class Call:
    """One request to the data plane of a Batch account. `path` names what the tables have as `{}`."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str = ""  # a refusal's


_IMAGE = {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204", "version": "latest"}
_NODES = {"imageReference": _IMAGE, "nodeAgentSKUId": "batch.node.ubuntu 22.04"}
_NO_PACKAGE = {"applicationPackageReferences": [{"applicationId": "nowhere"}]}
_FORMULA = {"autoScaleFormula": "$TargetLowPriorityNodes = 0;"}

BATCH_CALLS = (
    Call("POST", "pools", {"id": "p", "vmSize": "Standard_D2s_v3", "virtualMachineConfiguration": _NODES}),
    Call(
        "POST",
        "pools",
        {"id": "q", "vmSize": "Standard_D2s_v3", "virtualMachineConfiguration": _NODES, **_NO_PACKAGE},
        code="InvalidApplicationPackageReferences",
    ),
    Call("GET", "pools"),
    Call("GET", "pools/p"),
    Call("PATCH", "pools/p", {"metadata": [{"name": "team", "value": "lab"}]}),
    Call("PATCH", "pools/p", _NO_PACKAGE, code="InvalidApplicationPackageReferences"),
    Call("POST", "pools/p/updateproperties", {"applicationPackageReferences": [], "metadata": [], "certificateReferences": []}),
    Call("POST", "pools/p/resize", {"targetDedicatedNodes": 0, "targetLowPriorityNodes": 0}),
    Call("POST", "pools/p/enableautoscale", _FORMULA),
    Call("POST", "pools/p/evaluateautoscale", _FORMULA),
    Call("POST", "pools/p/disableautoscale"),
    Call("GET", "nodecounts"),
    Call("GET", "supportedimages"),
    Call("POST", "jobs", {"id": "j", "poolInfo": {"poolId": "p"}}),
    Call("GET", "jobs"),
    Call("GET", "jobs/j"),
    Call("PATCH", "jobs/j", {"constraints": {"maxTaskRetryCount": 1}}),
    Call("PUT", "jobs/j", {"poolInfo": {"poolId": "p"}}, {"If-Match": "0x0"}, "ConditionNotMet"),
    Call("PUT", "jobs/j", {"poolInfo": {"poolId": "p"}}),
    Call("POST", "jobs/j/tasks", {"id": "t", "commandLine": "true"}),
    Call("POST", "jobs/j/addtaskcollection", {"value": [{"id": "u", "commandLine": "true"}]}),
    Call("GET", "jobs/j/taskcounts"),
    Call("GET", "jobs/j/tasks/t"),
    Call("DELETE", "jobs/j/tasks/t"),
    Call("DELETE", "jobs/j"),
    Call("DELETE", "pools/p"),
)
