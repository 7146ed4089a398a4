"""The Azure resource types that this project declares: Pulumi's token, ARM's type and the path of its id, side by side.

One table for everybody who has to get from one to the other: the embedded Azure, its provider plugin, and operations that look
for a resource which the engine lost sight of. Tokens and names in paths are those of pulumi-azure-native 3.29.
"""

from collections.abc import Mapping
from dataclasses import dataclass

_GROUP = "/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}"


@dataclass(frozen=True, slots=True)
class AzureType:
    """One resource type. `{names}` in `path` are the provider's input names; `subscriptionId` comes from its configuration."""

    token: str  # "azure-native:containerinstance:ContainerGroup"
    arm_type: str  # "Microsoft.ContainerInstance/containerGroups"
    path: str

    @property
    def path_parameters(self) -> tuple[str, ...]:
        """The inputs that make up the id, in order, without the subscription."""
        names = [segment[1:-1] for segment in self.path.split("/") if segment.startswith("{")]
        return tuple(name for name in names if name != "subscriptionId")

    @property
    def name_parameter(self) -> str:
        return self.path_parameters[-1]

    def id_of(self, subscription: str, inputs: Mapping[str, object]) -> str:
        """The ARM id that `inputs` (by wire name) lead to. KeyError where one of the path's names is missing."""
        values = {name: str(inputs[name]).lstrip("/") for name in self.path_parameters}
        return self.path.format(subscriptionId=subscription, **values)


def _in_group(token: str, arm_type: str, names: str) -> AzureType:
    """`names`: of the provider's inputs for each step of the type, with slashes between."""
    namespace, *kinds = arm_type.split("/")
    steps = "".join(f"/{kind}/{{{name}}}" for kind, name in zip(kinds, names.split("/"), strict=True))
    return AzureType(f"azure-native:{token}", arm_type, f"{_GROUP}/providers/{namespace}{steps}")


def _in_workspace(resource: str, kinds: str, names: str) -> AzureType:
    """A type of Azure ML below its workspace."""
    arm_type = f"Microsoft.MachineLearningServices/workspaces/{kinds}"
    return _in_group(f"machinelearningservices:{resource}", arm_type, f"workspaceName/{names}")


RESOURCE_GROUP = AzureType("azure-native:resources:ResourceGroup", "Microsoft.Resources/resourceGroups", _GROUP)
ROLE_ASSIGNMENT = AzureType(
    "azure-native:authorization:RoleAssignment",
    "Microsoft.Authorization/roleAssignments",
    "/{scope}/providers/Microsoft.Authorization/roleAssignments/{roleAssignmentName}",
)
MANAGEMENT_LOCK = AzureType(
    "azure-native:authorization:ManagementLockByScope",
    "Microsoft.Authorization/locks",
    "/{scope}/providers/Microsoft.Authorization/locks/{lockName}",
)
USER_ASSIGNED_IDENTITY = _in_group(
    "managedidentity:UserAssignedIdentity", "Microsoft.ManagedIdentity/userAssignedIdentities", "resourceName"
)
STORAGE_ACCOUNT = _in_group("storage:StorageAccount", "Microsoft.Storage/storageAccounts", "accountName")
REGISTRY = _in_group("containerregistry:Registry", "Microsoft.ContainerRegistry/registries", "registryName")
TASK_RUN = _in_group("containerregistry:TaskRun", "Microsoft.ContainerRegistry/registries/taskRuns", "registryName/taskRunName")
TASK = _in_group("containerregistry:Task", "Microsoft.ContainerRegistry/registries/tasks", "registryName/taskName")
LOG_WORKSPACE = _in_group("operationalinsights:Workspace", "Microsoft.OperationalInsights/workspaces", "workspaceName")
CONTAINER_GROUP = _in_group(
    "containerinstance:ContainerGroup", "Microsoft.ContainerInstance/containerGroups", "containerGroupName"
)
MANAGED_ENVIRONMENT = _in_group("app:ManagedEnvironment", "Microsoft.App/managedEnvironments", "environmentName")
JOB = _in_group("app:Job", "Microsoft.App/jobs", "jobName")
BATCH_ACCOUNT = _in_group("batch:BatchAccount", "Microsoft.Batch/batchAccounts", "accountName")
BATCH_POOL = _in_group("batch:Pool", "Microsoft.Batch/batchAccounts/pools", "accountName/poolName")
BATCH_APPLICATION = _in_group("batch:Application", "Microsoft.Batch/batchAccounts/applications", "accountName/applicationName")
BATCH_APPLICATION_PACKAGE = _in_group(
    "batch:ApplicationPackage", "Microsoft.Batch/batchAccounts/applications/versions", "accountName/applicationName/versionName"
)
BLOB_SERVICE = _in_group(
    "storage:BlobServiceProperties", "Microsoft.Storage/storageAccounts/blobServices", "accountName/blobServicesName"
)
BLOB_CONTAINER = AzureType(  # the blob service above it has one name only
    "azure-native:storage:BlobContainer",
    "Microsoft.Storage/storageAccounts/blobServices/containers",
    f"{_GROUP}/providers/Microsoft.Storage/storageAccounts/{{accountName}}/blobServices/default/containers/{{containerName}}",
)
GALLERY = _in_group("compute:Gallery", "Microsoft.Compute/galleries", "galleryName")
GALLERY_IMAGE = _in_group("compute:GalleryImage", "Microsoft.Compute/galleries/images", "galleryName/galleryImageName")
GALLERY_IMAGE_VERSION = _in_group(
    "compute:GalleryImageVersion",
    "Microsoft.Compute/galleries/images/versions",
    "galleryName/galleryImageName/galleryImageVersionName",
)
FEDERATED_IDENTITY_CREDENTIAL = _in_group(
    "managedidentity:FederatedIdentityCredential",
    "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials",
    "resourceName/federatedIdentityCredentialResourceName",
)
MANAGED_CLUSTER = _in_group("containerservice:ManagedCluster", "Microsoft.ContainerService/managedClusters", "resourceName")
AGENT_POOL = _in_group(
    "containerservice:AgentPool", "Microsoft.ContainerService/managedClusters/agentPools", "resourceName/agentPoolName"
)
MAINTENANCE_CONFIGURATION = _in_group(
    "containerservice:MaintenanceConfiguration",
    "Microsoft.ContainerService/managedClusters/maintenanceConfigurations",
    "resourceName/configName",
)
DIAGNOSTIC_SETTING = AzureType(
    "azure-native:monitor:DiagnosticSetting",
    "Microsoft.Insights/diagnosticSettings",
    "/{resourceUri}/providers/Microsoft.Insights/diagnosticSettings/{name}",
)
BUDGET = AzureType(
    "azure-native:consumption:Budget",
    "Microsoft.Consumption/budgets",
    "/{scope}/providers/Microsoft.Consumption/budgets/{budgetName}",
)
KEY_VAULT = _in_group("keyvault:Vault", "Microsoft.KeyVault/vaults", "vaultName")
KEY_VAULT_KEY = _in_group("keyvault:Key", "Microsoft.KeyVault/vaults/keys", "vaultName/keyName")
INSIGHTS_COMPONENT = _in_group("applicationinsights:Component", "Microsoft.Insights/components", "resourceName")
PRIVATE_LINK_SCOPE = _in_group("monitor:PrivateLinkScope", "Microsoft.Insights/privateLinkScopes", "scopeName")
PRIVATE_LINK_SCOPED_RESOURCE = _in_group(
    "monitor:PrivateLinkScopedResource", "Microsoft.Insights/privateLinkScopes/scopedResources", "scopeName/name"
)
AUTOSCALE_SETTING = _in_group("monitor:AutoscaleSetting", "Microsoft.Insights/autoscaleSettings", "autoscaleSettingName")
DEPLOYMENT = _in_group("resources:Deployment", "Microsoft.Resources/deployments", "deploymentName")
KUBERNETES_EXTENSION = AzureType(
    "azure-native:kubernetesconfiguration:Extension",
    "Microsoft.KubernetesConfiguration/extensions",
    f"{_GROUP}/providers/{{clusterRp}}/{{clusterResourceName}}/{{clusterName}}"
    "/providers/Microsoft.KubernetesConfiguration/extensions/{extensionName}",
)
ML_WORKSPACE = _in_group("machinelearningservices:Workspace", "Microsoft.MachineLearningServices/workspaces", "workspaceName")
ML_DATASTORE = _in_workspace("Datastore", "datastores", "name")
ML_COMPUTE = _in_workspace("Compute", "computes", "computeName")
ML_MODEL_CONTAINER = _in_workspace("ModelContainer", "models", "name")
ML_MODEL_VERSION = _in_workspace("ModelVersion", "models/versions", "name/version")
ML_ENVIRONMENT_CONTAINER = _in_workspace("EnvironmentContainer", "environments", "name")
ML_ENVIRONMENT_VERSION = _in_workspace("EnvironmentVersion", "environments/versions", "name/version")
ML_CODE_CONTAINER = _in_workspace("CodeContainer", "codes", "name")
ML_CODE_VERSION = _in_workspace("CodeVersion", "codes/versions", "name/version")
ML_ONLINE_ENDPOINT = _in_workspace("OnlineEndpoint", "onlineEndpoints", "endpointName")
ML_ONLINE_DEPLOYMENT = _in_workspace("OnlineDeployment", "onlineEndpoints/deployments", "endpointName/deploymentName")
ML_JOB = _in_workspace("Job", "jobs", "id")
VIRTUAL_NETWORK = _in_group("network:VirtualNetwork", "Microsoft.Network/virtualNetworks", "virtualNetworkName")
SUBNET = _in_group("network:Subnet", "Microsoft.Network/virtualNetworks/subnets", "virtualNetworkName/subnetName")
NETWORK_SECURITY_GROUP = _in_group(
    "network:NetworkSecurityGroup", "Microsoft.Network/networkSecurityGroups", "networkSecurityGroupName"
)
NETWORK_INTERFACE = _in_group("network:NetworkInterface", "Microsoft.Network/networkInterfaces", "networkInterfaceName")
PUBLIC_IP_ADDRESS = _in_group("network:PublicIPAddress", "Microsoft.Network/publicIPAddresses", "publicIpAddressName")
BASTION_HOST = _in_group("network:BastionHost", "Microsoft.Network/bastionHosts", "bastionHostName")
PRIVATE_ENDPOINT = _in_group("network:PrivateEndpoint", "Microsoft.Network/privateEndpoints", "privateEndpointName")
PRIVATE_DNS_ZONE_GROUP = _in_group(
    "network:PrivateDnsZoneGroup",
    "Microsoft.Network/privateEndpoints/privateDnsZoneGroups",
    "privateEndpointName/privateDnsZoneGroupName",
)
PRIVATE_ZONE = _in_group("privatedns:PrivateZone", "Microsoft.Network/privateDnsZones", "privateZoneName")
PRIVATE_ZONE_LINK = _in_group(
    "privatedns:VirtualNetworkLink",
    "Microsoft.Network/privateDnsZones/virtualNetworkLinks",
    "privateZoneName/virtualNetworkLinkName",
)
NAT_GATEWAY = _in_group("network:NatGateway", "Microsoft.Network/natGateways", "natGatewayName")
DISK = _in_group("compute:Disk", "Microsoft.Compute/disks", "diskName")
DISK_ENCRYPTION_SET = _in_group("compute:DiskEncryptionSet", "Microsoft.Compute/diskEncryptionSets", "diskEncryptionSetName")
VIRTUAL_MACHINE = _in_group("compute:VirtualMachine", "Microsoft.Compute/virtualMachines", "vmName")
VIRTUAL_MACHINE_EXTENSION = _in_group(
    "compute:VirtualMachineExtension", "Microsoft.Compute/virtualMachines/extensions", "vmName/vmExtensionName"
)
VIRTUAL_MACHINE_RUN_COMMAND = _in_group(
    "compute:VirtualMachineRunCommandByVirtualMachine", "Microsoft.Compute/virtualMachines/runCommands", "vmName/runCommandName"
)
GLOBAL_SCHEDULE = _in_group("devtestlab:GlobalSchedule", "Microsoft.DevTestLab/schedules", "name")

ALL = tuple(each for each in tuple(globals().values()) if isinstance(each, AzureType))
BY_TOKEN = {azure_type.token: azure_type for azure_type in ALL}
